/** Takes everything around a part of the page out of reach, while that part covers the window. */

/**
 * Makes all else inert: neither the keyboard nor a screen reader goes to what cannot be seen. What is said aloud stays.
 * Dialogs open beside the page's content and are not touched. The answer undoes it.
 */
export function setApart(part: HTMLElement): () => void {
  const hidden: HTMLElement[] = [];
  for (let node = part; node.parentElement !== null && node.parentElement !== document.body; node = node.parentElement) {
    for (const other of node.parentElement.children) {
      if (other === node || !(other instanceof HTMLElement) || other.hasAttribute("inert") || isSaid(other)) continue;
      other.setAttribute("inert", "");
      hidden.push(other);
    }
  }
  return () => {
    for (const node of hidden) node.removeAttribute("inert");
  };
}

function isSaid(node: HTMLElement): boolean {
  return node.matches("[role=alert], [role=status], [aria-live]");
}
