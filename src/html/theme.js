"use strict";
try {
  const theme = localStorage.getItem("tiller-theme");
  if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
} catch {
  // file:// pages may lack localStorage; the page then follows the system.
}
