/** The frame of every page of the reference: header, navigation and content. */
import { posix } from 'node:path';
import { html } from 'hono/html';
import type { Html } from './markup.js';

/** A page of the reference. */
export interface Page {
  /** Its address in the navigation: `index`, `generations`, `guides/uploads`. */
  readonly name: string;
  readonly title: string;
  readonly group: string;
  readonly entries: readonly Entry[];
  /** One sentence for search engines and for the list of pages. */
  readonly about: string;
  readonly content: (at: Place) => Html;
}

/** An entry of the navigation within a page. */
export interface Entry {
  readonly id: string;
  readonly title: string;
  readonly method?: string;
  readonly path?: string;
}

/** The addresses at which the pages are published. */
export interface Site {
  /** The address of a page, without a slash before it. */
  readonly addressOf: (name: string) => string;
  /** The folder of styles, scripts and fonts. */
  readonly assets: string;
  /** The file names in that folder, with their hashes. */
  readonly style: string;
  readonly script: string;
  readonly theme: string;
  /** Links in the header, by their text. Addresses are from the same root. */
  readonly links: readonly (readonly [text: string, address: string])[];
  /** The address that the name of the product leads to. */
  readonly home: string;
  /** Whether a service publishes the pages, beside its API and its console. */
  readonly isServed: boolean;
}

/** The addresses as they are linked to from one page. */
export interface Place {
  readonly to: (name: string, id?: string) => string;
  readonly outside: (address: string) => string;
  readonly isServed: boolean;
}

export function placeOf(site: Site, name: string): Place {
  const folder = posix.dirname(site.addressOf(name));
  const outside = (address: string): string => {
    const relative = posix.relative(folder, address);
    if (address === '') return relative === '' ? './' : `${relative}/`;
    // A page has no slash behind its name, even where a folder has the same name.
    const isFolder = relative === '' || relative.endsWith('..');
    return isFolder ? posix.join(relative, '..', posix.basename(address)) : relative;
  };
  const { isServed } = site;
  return {
    outside,
    isServed,
    to: (other, id) => `${outside(site.addressOf(other))}${id === undefined ? '' : `#${id}`}`,
  };
}

/** A whole page as text. */
export function pageText(page: Page, pages: readonly Page[], site: Site): string {
  const place = placeOf(site, page.name);
  const asset = (file: string): string => place.outside(`${site.assets}/${file}`);
  const text = html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <meta name="description" content="${page.about}" />
        <title>${page.title} · Darkroom API</title>
        <link rel="icon" href="${ICON}" />
        <link rel="stylesheet" href="${asset(site.style)}" />
        <script src="${asset(site.theme)}"></script>
        <script type="module" src="${asset(site.script)}"></script>
      </head>
      <body>
        <a class="skip" href="#main">Skip to content</a>
        <div class="frame">
          <aside class="side" aria-label="API reference">
            <a class="brand" href="${place.outside(site.home)}">${LENS} Darkroom</a>
            ${finder('wide')} ${navigation(page, pages, place)}
          </aside>
          <div class="content">
            <header class="top">
              <a class="brand" href="${place.outside(site.home)}">${LENS} Darkroom</a>
              <p class="crumbs"><a href="${place.to('index')}">API reference</a></p>
              <ul class="links">
                ${site.links.map(([name, address]) => html`<li><a href="${place.outside(address)}">${name}</a></li>`)}
              </ul>
            </header>
            <details class="menu">
              <summary>All requests and pages</summary>
              ${finder('narrow')} ${navigation(page, pages, place)}
            </details>
            <main id="main" tabindex="-1">
              <h1>${page.title}</h1>
              ${page.content(place)}
            </main>
          </div>
        </div>
      </body>
    </html>`;
  // Nothing in it is waited for, so it is a text, though an object of one.
  return compact((text as string).concat('\n'));
}

/** Without the indentation of the templates; in a block of code all white space counts. */
function compact(text: string): string {
  return text
    .split(/(<pre[^]*?<\/pre>)/)
    .map((part, index) => (index % 2 === 0 ? part.replaceAll(/\s*\n\s*/g, '\n') : part))
    .join('');
}

/** Shown by the script, which does the finding. */
function finder(name: string): Html {
  return html`<div class="finder" hidden>
    <label class="visually-hidden" for="find-${name}">Find a request</label>
    <input
      class="find"
      id="find-${name}"
      type="search"
      placeholder="Find a request"
      autocomplete="off"
      spellcheck="false"
    />
    <p class="visually-hidden" role="status"></p>
  </div>`;
}

/** One group per heading; of the pages with requests only the current one is open. */
function navigation(current: Page, pages: readonly Page[], place: Place): Html {
  const groups = [...new Set(pages.map(({ group }) => group))];
  return html`<nav aria-label="Pages">
    ${groups.map(
      (group) =>
        html`<p class="nav-title">${group}</p>
          <ul class="nav">
            ${pages.filter((page) => page.group === group).map((page) => navigationItem(page, current, place))}
          </ul>`,
    )}
  </nav>`;
}

function navigationItem(page: Page, current: Page, place: Place): Html {
  const isCurrent = page === current;
  if (page.entries.length === 0)
    return html`<li>
      <a href="${place.to(page.name)}" ${isCurrent ? CURRENT : ''}>${page.title}</a>
    </li>`;
  return html`<li>
    <details ${isCurrent ? 'open' : ''}>
      <summary>${page.title}</summary>
      <ul>
        <li><a href="${place.to(page.name)}" ${isCurrent ? CURRENT : ''}>Overview</a></li>
        ${page.entries.map(
          ({ id, title, method, path }) =>
            html`<li data-find="${[id, title, method, path].join(' ').toLowerCase()}">
              <a href="${isCurrent ? `#${id}` : place.to(page.name, id)}"
                >${title}${method === undefined ? '' : html` <span class="method">${method}</span>`}</a
              >
            </li>`,
        )}
      </ul>
    </details>
  </li>`;
}

/** The icon of the tab, which knows no theme. */
const ICON = `data:image/svg+xml,${encodeURIComponent(
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 20 20"><rect width="20" height="20" rx="5" fill="#171717"/><circle cx="10" cy="10" r="5" fill="none" stroke="#fff" stroke-width="1.6"/><circle cx="10" cy="10" r="2" fill="#f5a623"/></svg>',
)}`;

const CURRENT = html`aria-current="page"`;

const LENS = html`<svg viewBox="0 0 20 20" aria-hidden="true">
  <rect width="20" height="20" rx="5" fill="var(--ink)" />
  <circle cx="10" cy="10" r="5" fill="none" stroke="var(--on-ink)" stroke-width="1.6" />
  <circle cx="10" cy="10" r="2" fill="var(--accent)" />
</svg>`;
