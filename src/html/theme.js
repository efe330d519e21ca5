"use strict";
try {
  const theme = localStorage.getItem("tiller-theme");
  if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
} catch {
  // A page from disk may be forbidden to remember; then it follows the system.
}
