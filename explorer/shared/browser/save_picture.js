// Two buttons that save a picture as a file: the SVG text that the server sent, or else the chart next to them.
// A PNG is the same picture, drawn by the browser on a canvas. Nothing is fetched.
const PIXELS = 16e6; // of a canvas: browsers draw nothing on a larger one

export default function ({ data, parentElement }) {
  const group = parentElement.querySelector(".save");
  group.setAttribute("aria-label", `Save ${data.name}`);
  for (const button of group.querySelectorAll("button")) {
    const kind = button.dataset.kind;
    button.title = `Save ${data.name}.${kind}`;
    button.setAttribute("aria-label", `${kind.toUpperCase()}: save ${data.name}`);
    button.onclick = async () => {
      const picture = data.svg ? parsed(data.svg) : chart(group, data);
      if (!picture) return; // not drawn yet
      const text = new XMLSerializer().serializeToString(picture);
      const file = kind === "svg" ? new Blob([text], { type: "image/svg+xml" }) : await png(picture, text);
      download(file, `${data.name}.${kind}`);
    };
  }
}

function parsed(text) {
  return new DOMParser().parseFromString(text, "image/svg+xml").documentElement;
}

// The chart in the same container, as a document of its own: with a title, on the colour of the page.
function chart(group, { description, background }) {
  const found = group.getRootNode().host?.closest("[data-testid=stVerticalBlock]")?.querySelector("svg.marks");
  if (!found) return null;
  const copy = found.cloneNode(true);
  const box = found.viewBox.baseVal;
  copy.setAttribute("width", box.width);
  copy.setAttribute("height", box.height);
  copy.removeAttribute("style");
  copy.removeAttribute("class");
  copy.setAttribute("role", "img");
  const title = document.createElementNS(copy.namespaceURI, "title");
  title.textContent = description;
  const page = document.createElementNS(copy.namespaceURI, "rect");
  for (const [name, value] of Object.entries({ width: "100%", height: "100%", fill: background })) {
    page.setAttribute(name, value);
  }
  copy.prepend(title, page);
  return copy;
}

async function png(picture, text) {
  const width = Number(picture.getAttribute("width"));
  const height = Number(picture.getAttribute("height"));
  const scale = Math.min(width < 800 ? 3 : 2, Math.sqrt(PIXELS / (width * height)));
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(text)}`;
  await image.decode();
  const canvas = document.createElement("canvas");
  canvas.width = Math.round(width * scale);
  canvas.height = Math.round(height * scale);
  canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
  return new Promise((resolve) => canvas.toBlob(resolve, "image/png"));
}

function download(file, name) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(file);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}
