// Runs the page's scripts, which are text until then, in their order, after the page has been painted without them. In a window
// that is not painted they run soon, too.
"use strict";

(() => {
  const start = () => {
    for (const text of document.querySelectorAll("script[data-name][type]")) {
      const script = document.createElement("script");
      script.dataset.name = text.dataset.name;
      script.textContent = text.textContent;
      text.replaceWith(script);
    }
  };
  requestAnimationFrame(() => setTimeout(start));
  setTimeout(start, 200);
})();
