/** Draws a Mermaid diagram while the site is built, in the colours of its theme. */
import { renderMermaidSVG } from 'beautiful-mermaid';

export function diagram(source) {
  const svg = renderMermaidSVG(source, {
    bg: 'var(--vp-c-bg)',
    fg: 'var(--vp-c-text-1)',
    line: 'var(--vp-c-text-3)',
    accent: 'var(--vp-c-brand-1)',
    muted: 'var(--vp-c-text-2)',
    surface: 'var(--vp-c-bg-soft)',
    border: 'var(--vp-c-text-3)',
    transparent: true,
  });
  // The site loads nothing from elsewhere.
  const drawing = svg.replace(/@import url\([^)]*\);/g, '');
  // As a value: Vue removes <style> from templates.
  return `<div class="diagram" v-html="${JSON.stringify(drawing).replaceAll('&', '&amp;').replaceAll('"', '&quot;')}"></div>`;
}
