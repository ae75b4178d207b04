/** Links of the built site that lead to no page or to no element, as sentences. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, posix } from 'node:path';

/** Follows every link of every page in `folder` within the site, whose address begins with `base`. */
export function deadLinks(folder, base) {
  const pages = new Map(
    readdirSync(folder, { recursive: true })
      .filter((name) => name.endsWith('.html'))
      .map((name) => [name.replaceAll('\\', '/'), readFileSync(join(folder, name), 'utf8')]),
  );
  const ids = new Map(
    [...pages].map(([name, html]) => [name, new Set([...html.matchAll(/\sid="([^"]+)"/g)].map(([, id]) => id))]),
  );
  return [...pages].flatMap(([name, html]) => {
    const links = new Set(
      [...html.matchAll(/<a\s[^>]*?href="([^"]*)"/g)].map(([, link]) => link.replaceAll('&amp;', '&')),
    );
    return [...links].filter((link) => !leadsSomewhere(name, link)).map((link) => `${name}: ${link}`);
  });

  function leadsSomewhere(from, link) {
    if (/^[a-z]+:|^\/\//.test(link)) return true;
    const [path, anchor] = link.split('#');
    const named = path === '' ? from : path.startsWith('/') ? inside(path) : posix.join(posix.dirname(from), path);
    if (named === undefined) return false;
    const file = named === '' || named.endsWith('/') ? `${named}index.html` : named;
    if (!existsSync(join(folder, decodeURIComponent(file)))) return false;
    return !anchor || ids.get(file)?.has(decodeURIComponent(anchor)) === true;
  }

  function inside(path) {
    return path.startsWith(base) ? path.slice(base.length) : undefined;
  }
}
