// Every code of a format as a button: click or Enter selects, the arrow keys move, Home and End go to the ends.
// Like the bit switches it repaints at once and counts its changes. A code is a text here: a number holds 53 bits.
const states = new WeakMap();

export default function (component) {
  const { data, parentElement, setStateValue } = component;
  const root = parentElement.querySelector(".grid");
  const state = states.get(root) ?? { seq: -1, selected: "", text: "", cells: [] };
  states.set(root, state);
  state.send = setStateValue;
  const text = JSON.stringify([data.cells, data.columns, data.label]);
  if (text !== state.text) build(root, state, data);
  if (text !== state.text || data.seq >= state.seq) {
    state.seq = data.seq;
    state.selected = data.selected;
    state.text = text;
  }
  paint(state);
}

function build(root, state, data) {
  root.textContent = "";
  root.setAttribute("aria-label", data.label);
  root.dataset.field = data.field;
  root.className = "grid c" + data.columns;
  state.cells = data.cells.map(([code, value, kind, id], index) => {
    const cell = document.createElement("button");
    cell.type = "button";
    cell.className = kind;
    cell.title = `${code}: ${value}, ${kind}`;
    const head = document.createElement("small");
    head.textContent = code;
    const body = document.createElement("span");
    body.textContent = value;
    cell.append(head, body);
    cell.addEventListener("click", () => select(state, index));
    cell.addEventListener("keydown", (event) => key(event, root, state, index));
    root.append(cell);
    return { cell, id };
  });
}

function select(state, index) {
  state.selected = state.cells[index].id;
  state.seq += 1;
  paint(state);
  state.cells[index].cell.focus();
  state.send("clicked", { code: state.selected, seq: state.seq });
}

function key(event, root, state, index) {
  const columns = getComputedStyle(root).gridTemplateColumns.split(" ").length;
  const last = state.cells.length - 1;
  const target = {
    ArrowLeft: index - 1, ArrowRight: index + 1, ArrowUp: index - columns, ArrowDown: index + columns, Home: 0, End: last,
  }[event.key];
  if (target === undefined) return;
  event.preventDefault();
  if (target >= 0 && target <= last) state.cells[target].cell.focus();
}

function paint(state) {
  const selected = state.cells.findIndex(({ id }) => id === state.selected);
  const focus = Math.max(0, selected);
  state.cells.forEach(({ cell, id }, index) => {
    cell.setAttribute("aria-pressed", id === state.selected);
    cell.tabIndex = index === focus ? 0 : -1;
  });
}
