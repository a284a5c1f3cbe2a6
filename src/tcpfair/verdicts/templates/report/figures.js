// Figures grow on a click; what an address points at is unfolded; what scrolls can be reached by keyboard.
"use strict";
(() => {
  const dialog = document.getElementById("larger");
  for (const link of document.querySelectorAll("a.zoom")) {
    link.addEventListener("click", (event) => {
      if (event.ctrlKey || event.metaKey || event.shiftKey) return;
      event.preventDefault();
      const [small, large] = [link.querySelector("img"), dialog.querySelector("img")];
      large.src = small.src;
      large.alt = small.alt.replace("; opens larger", "");
      dialog.showModal();
    });
  }
  dialog.addEventListener("click", (event) => {
    if (event.target !== dialog.querySelector("button")) dialog.close();
  });

  // what is printed is loaded and unfolded first
  addEventListener("beforeprint", () => {
    for (const image of document.querySelectorAll("img[loading]")) image.loading = "eager";
  });

  const unfold = () => {
    const target = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (!target) return;
    for (let at = target; at; at = at.parentElement) if (at.tagName === "DETAILS") at.open = true;
    const evidence = target.matches("article.claim") && target.querySelector("details");
    if (evidence) evidence.open = true;
    target.scrollIntoView();
  };
  addEventListener("hashchange", unfold);
  unfold();

  // first all is measured and then all is marked, so that the page is laid out once
  const boxes = [...document.querySelectorAll(".scroll, .math")];
  const reach = () => {
    const scrolling = boxes.map((box) => box.scrollWidth > box.clientWidth + 1);
    boxes.forEach((box, index) => {
      if (scrolling[index] === box.hasAttribute("tabindex")) return;
      const name = box.querySelector("caption") || box.parentElement.querySelector("h4");
      const marks = { tabindex: "0", role: "region", "aria-label": name ? name.textContent.trim() : "Table" };
      for (const [key, text] of Object.entries(marks)) {
        if (scrolling[index]) box.setAttribute(key, text);
        else box.removeAttribute(key);
      }
    });
  };
  let waiting = 0;
  const soon = () => {
    cancelAnimationFrame(waiting);
    waiting = requestAnimationFrame(reach);
  };
  addEventListener("resize", soon);
  document.addEventListener("toggle", soon, true);
  soon();
})();
