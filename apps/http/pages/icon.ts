/** What browsers show for the pages, as SVG: a lens. */
export const PAGE_ICON = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32">
<rect width="32" height="32" rx="7" fill="#0172ad"/>
<circle cx="16" cy="16" r="8.5" fill="none" stroke="#fff" stroke-width="2.5"/>
<circle cx="16" cy="16" r="3" fill="#fff"/>
</svg>
`;
