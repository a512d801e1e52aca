// Formulas are typeset by KaTeX, from this site's own files.
document.addEventListener("DOMContentLoaded", () => {
  for (const element of document.querySelectorAll(".formula")) {
    katex.render(element.textContent, element, { displayMode: element.classList.contains("displayed"), throwOnError: false, strict: false });
  }
});
