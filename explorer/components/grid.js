// Every code of a format as a button: click or Enter selects, the arrow keys move, Home and End go to the ends.
// Like the bits it repaints at once and counts its changes. A code is a text here: a number would hold 53 bits of it.
const kept = new WeakMap();

export default function (component) {
  const { data, parentElement, setStateValue } = component;
  const root = parentElement.querySelector(".grid");
  const own = kept.get(root) ?? { seq: -1, selected: "", text: "", cells: [] };
  kept.set(root, own);
  own.send = setStateValue;
  const text = JSON.stringify([data.cells, data.columns, data.label]);
  if (text !== own.text) build(root, own, data);
  if (text !== own.text || data.seq >= own.seq) {
    own.seq = data.seq;
    own.selected = data.selected;
    own.text = text;
  }
  paint(own);
}

function build(root, own, data) {
  root.textContent = "";
  root.setAttribute("aria-label", data.label);
  root.className = "grid c" + data.columns;
  own.cells = data.cells.map(([code, value, kind, id], index) => {
    const cell = document.createElement("button");
    cell.type = "button";
    cell.className = kind;
    cell.title = `${code}: ${value}, ${kind}`;
    const head = document.createElement("small");
    head.textContent = code;
    const body = document.createElement("span");
    body.textContent = value;
    cell.append(head, body);
    cell.addEventListener("click", () => select(own, index));
    cell.addEventListener("keydown", (event) => key(event, root, own, index));
    root.append(cell);
    return { cell, id };
  });
}

function select(own, index) {
  own.selected = own.cells[index].id;
  own.seq += 1;
  paint(own);
  own.cells[index].cell.focus();
  own.send("clicked", { code: own.selected, seq: own.seq });
}

function key(event, root, own, index) {
  const columns = getComputedStyle(root).gridTemplateColumns.split(" ").length;
  const last = own.cells.length - 1;
  const to = {
    ArrowLeft: index - 1, ArrowRight: index + 1, ArrowUp: index - columns, ArrowDown: index + columns, Home: 0, End: last,
  }[event.key];
  if (to === undefined) return;
  event.preventDefault();
  if (to >= 0 && to <= last) own.cells[to].cell.focus();
}

function paint(own) {
  const found = own.cells.findIndex(({ id }) => id === own.selected);
  const focus = Math.max(0, found);
  own.cells.forEach(({ cell, id }, index) => {
    cell.setAttribute("aria-pressed", id === own.selected);
    cell.tabIndex = index === focus ? 0 : -1;
  });
}
