// An SVG element as a file: its text, or a PNG that the browser draws on a canvas. Pictures and charts use it.
const PIXELS = 16e6; // of a canvas: browsers draw nothing on a larger one

async function save(picture, name, kind) {
  const text = new XMLSerializer().serializeToString(picture);
  const file = kind === "svg" ? new Blob([text], { type: "image/svg+xml" }) : await png(picture, text);
  const link = document.createElement("a");
  link.href = URL.createObjectURL(file);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}

function parsed(text) {
  return new DOMParser().parseFromString(text, "image/svg+xml").documentElement;
}

async function png(picture, text) {
  const [width, height] = ["width", "height"].map((name) => Number(picture.getAttribute(name)));
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

