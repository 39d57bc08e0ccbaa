// Two buttons that save the chart next to them as a file. Nothing is fetched.
export default function ({ data: [data], parentElement }) {
  const group = parentElement.querySelector(".save");
  group.setAttribute("aria-label", `Save ${data.name}`);
  for (const button of group.querySelectorAll("button")) {
    const kind = button.dataset.kind;
    button.title = `Save ${data.name}.${kind}`;
    button.setAttribute("aria-label", `${kind.toUpperCase()}: save ${data.name}`);
    button.onclick = () => {
      const picture = chart(group, data);
      if (picture) save(picture, `${data.name}.${kind}`, kind); // else it is not drawn yet
    };
  }
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
