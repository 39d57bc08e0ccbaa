// Slides: all are here, so that a step needs no run of the server; the address keeps the step. It sets no HTML.
export default function ({ data: [data], parentElement }) {
  const root = parentElement.querySelector(".slides");
  const find = (name) => root.querySelector(name);
  const { slides, keys } = data;
  let now = data.start - 1;
  find(".leave").href = data.leave;
  find(".problem").textContent = data.problem;
  const words = [["←", ""], ["→", "step"]];
  for (const [key, [word]] of Object.entries(keys)) words.push([key.toUpperCase(), word]);
  words.push(["D", "dark or light"], ["Esc", "leave"]);
  find(".keys").replaceChildren(...words.map(([key, word]) => {
    const text = document.createElement("span");
    const cap = document.createElement("kbd");
    cap.textContent = key;
    text.append(cap, word);
    return text;
  }));

  const show = () => {
    const slide = slides[now];
    find(".where span").textContent = slide.place;
    find(".where code").textContent = slide.format;
    find("h1").textContent = slide.sentence;
    const svg = new DOMParser().parseFromString(slide.svg, "image/svg+xml").documentElement;
    find(".drawing").replaceChildren(document.importNode(svg, true));
    find(".next").textContent = now < slides.length - 1 ? `Next: ${slide.following}` : slide.following;
    find(".steps").setAttribute("aria-label", `Step ${now + 1} of ${slides.length}`);
    find(".steps").replaceChildren(...slides.map((_, index) => {
      const mark = document.createElement("i");
      if (index <= now) mark.className = index < now ? "past" : "here";
      return mark;
    }));
    const query = `?classroom=1&step=${now + 1}`;
    find(".join code").textContent = query;
    if (new URLSearchParams(location.search).get("classroom") === "1" && location.search !== query) {
      history.replaceState(history.state, "", query);
    }
  };

  const pressed = (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
    if (key === "ArrowRight" || key === "ArrowLeft") {
      now = Math.max(0, Math.min(slides.length - 1, now + (key === "ArrowRight" ? 1 : -1)));
    } else if (keys[key]) {
      const [, without, to] = keys[key];
      now = (now === to - 1 ? without : to) - 1;
    } else if (key === "d") {
      root.style.colorScheme = getComputedStyle(root).backgroundColor === "rgb(255, 255, 255)" ? "dark" : "light";
    } else if (key === "Escape") find(".leave").click();
    else return;
    event.preventDefault();
    event.stopPropagation();
    show();
  };
  window.addEventListener("keydown", pressed, true);
  show();
  root.focus();
  return () => window.removeEventListener("keydown", pressed, true);
}
