/** What pages of forms add to Pico's styles. */
export const PAGE_STYLES = `
/* As large as on the account page, on every screen. */
:root { --pico-font-size: 100%; --pico-border-radius: .5rem; }
main.container { max-width: 30rem; padding-block: 3rem; }
.brand { letter-spacing: .08em; text-transform: uppercase; font-size: .8rem; color: var(--pico-muted-color); }
.alert { border-inline-start: .25rem solid var(--pico-del-color); padding: .75rem 1rem; background: var(--pico-card-background-color); }
.wide { inline-size: 100%; }
.alert:empty { display: none; }
.quiet { color: var(--pico-muted-color); font-size: .85rem; }
.split { display: flex; flex-wrap: wrap; gap: 1rem; margin-block-end: 1rem; }
.split > * { flex: 1 1 10rem; margin: 0; }
.facts { display: grid; grid-template-columns: max-content 1fr; gap: .25rem 1rem; }
.facts dd { margin: 0; overflow-wrap: anywhere; }
code { overflow-wrap: anywhere; }
`;
