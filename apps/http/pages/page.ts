import { html } from 'hono/html';

/** Markup. What is put into a template is escaped, unless it is markup itself. */
export type Html = ReturnType<typeof html>;

export interface PageOptions {
  readonly title: string;
  /** Addresses of scripts of this server, which load after the page. */
  readonly scripts?: readonly string[];
}

/** A whole page as text. */
export function pageText({ title, scripts = [] }: PageOptions, content: Html): string {
  const page = html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <title>${title} · Darkroom</title>
        <link rel="icon" href="/assets/icon.svg" type="image/svg+xml" />
        <link rel="stylesheet" href="/assets/pico.css" />
        <link rel="stylesheet" href="/assets/pages.css" />
        ${scripts.map((src) => html`<script type="module" src="${src}"></script>`)}
      </head>
      <body>
        <main class="container">
          <p class="brand">Darkroom</p>
          <h1>${title}</h1>
          ${content}
        </main>
      </body>
    </html>`;
  // Nothing in it is waited for, so it is a text, though an object of one.
  return (page as string).concat('\n');
}

/** One sentence that a screen reader announces when the page opens. */
export function alert(text: string): Html {
  return html`<p role="alert" class="alert">${text}</p>`;
}

/** Nothing where there is no sentence. */
export function alertIf(text: string | undefined): Html {
  return text === undefined ? html`` : alert(text);
}
