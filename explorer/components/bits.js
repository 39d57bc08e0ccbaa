// Bits as switches: click, drag across, Space; left and right move, up and down step one code.
// It repaints at once and counts its changes (seq); what the server sends counts only if it has seen them all,
// so that a click during a run is never painted over.
const kept = new WeakMap();

export default function (component) {
  const { data, parentElement, setStateValue } = component;
  const root = parentElement.querySelector(".bits");
  const own = kept.get(root) ?? { seq: -1, bits: "", format: "", focus: 0, paint: null };
  kept.set(root, own);
  own.send = setStateValue;
  if (data.format !== own.format || data.seq >= own.seq) {
    const rebuild = data.format !== own.format;
    own.seq = data.seq;
    own.bits = data.bits;
    own.format = data.format;
    if (rebuild) build(root, own, data.fields);
  }
  paint(own);
}

function build(root, own, fields) {
  const had = root.contains(root.getRootNode().activeElement);
  root.textContent = "";
  root.className = own.bits.length > 16 ? "bits long" : "bits";
  own.buttons = [];
  own.focus = Math.min(own.focus, own.bits.length - 1);
  for (const field of fields) {
    const group = document.createElement("div");
    group.className = "field " + field.name;
    const row = document.createElement("div");
    row.className = "row";
    for (let index = field.first; index < field.last; index++) {
      const button = document.createElement("button");
      button.type = "button";
      button.setAttribute("role", "switch");
      button.setAttribute("aria-label", `${field.label} bit ${own.bits.length - 1 - index}`);
      button.addEventListener("pointerdown", (event) => press(event, own, index));
      button.addEventListener("pointerenter", () => drag(own, index));
      button.addEventListener("click", (event) => { if (event.detail === 0) flip(own, index); }); // Space, readers
      button.addEventListener("keydown", (event) => key(event, own, index));
      button.addEventListener("focus", () => { own.focus = index; roving(own); });
      own.buttons.push(button);
      row.append(button);
    }
    const label = document.createElement("div");
    label.className = "label";
    label.textContent = field.label;
    group.append(row, label);
    root.append(group);
  }
  const stop = () => { own.paint = null; };
  root.onpointerup = stop;
  root.onpointerleave = stop;
  root.onpointercancel = stop;
  roving(own);
  if (had) own.buttons[own.focus].focus();
}

function press(event, own, index) {
  if (event.button !== 0) return;
  event.preventDefault();
  const button = own.buttons[index];
  if (button.hasPointerCapture(event.pointerId)) button.releasePointerCapture(event.pointerId); // touch captures
  button.focus();
  own.paint = own.bits[index] === "1" ? "0" : "1";
  put(own, index, own.paint);
}

function drag(own, index) {
  if (own.paint !== null && own.bits[index] !== own.paint) put(own, index, own.paint);
}

function flip(own, index) {
  put(own, index, own.bits[index] === "1" ? "0" : "1");
}

function put(own, index, bit) {
  change(own, own.bits.slice(0, index) + bit + own.bits.slice(index + 1));
}

function change(own, bits) {
  own.bits = bits;
  own.seq += 1;
  paint(own);
  own.send("clicked", { bits: own.bits, seq: own.seq });
}

function key(event, own, index) {
  const last = own.bits.length - 1;
  const to = { ArrowLeft: index - 1, ArrowRight: index + 1, Home: 0, End: last }[event.key];
  if (to !== undefined) own.buttons[Math.max(0, Math.min(last, to))].focus();
  else if (event.key === "ArrowUp" || event.key === "ArrowDown") {
    const count = 1n << BigInt(own.bits.length);
    const step = event.key === "ArrowUp" ? 1n : count - 1n;
    change(own, ((BigInt("0b" + own.bits) + step) % count).toString(2).padStart(own.bits.length, "0"));
  } else return;
  event.preventDefault();
}

function roving(own) {
  own.buttons.forEach((button, index) => { button.tabIndex = index === own.focus ? 0 : -1; });
}

function paint(own) {
  own.buttons.forEach((button, index) => {
    button.textContent = own.bits[index];
    button.setAttribute("aria-checked", own.bits[index] === "1");
  });
}
