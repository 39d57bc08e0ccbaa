// Cards: drawings and titles of the server, each a link. It sets no HTML.
export default function ({ data, parentElement }) {
  parentElement.querySelector(".cards").replaceChildren(...data.map((row, index) => {
    const link = document.createElement("a");
    link.href = row.address;
    link.target = "_self";
    link.setAttribute("aria-label", row.title);
    const number = document.createElement("i");
    number.textContent = index + 1;
    const title = document.createElement("span");
    title.append(number, row.title);
    const svg = new DOMParser().parseFromString(row.svg, "image/svg+xml").documentElement;
    link.append(document.importNode(svg, true), title);
    const item = document.createElement("li");
    item.append(link);
    return item;
  }));
}
