/** Markup of the reference: templates, Markdown, and code with its strings and comments marked. */
import { type html, raw } from 'hono/html';
import { Marked, type Tokens } from 'marked';

/** Values in a template are escaped, unless they are markup themselves. */
export type Html = ReturnType<typeof html>;

/** Markdown as it is in descriptions: HTML in it is text. */
const INLINE = new Marked({ renderer: { html: ({ text }) => escaped(text) } });

/** A sentence or paragraph of Markdown. */
export function inline(markdown: string): Html {
  return raw(INLINE.parseInline(markdown, { async: false }));
}

export interface MarkdownOptions {
  /** The target of a link in the reference; undefined if it has none, so that the label becomes plain text. */
  readonly link: (target: string) => string | undefined;
}

/** A page of Markdown without its title, with anchors as GitHub makes them, and the title. */
export function page(markdown: string, { link }: MarkdownOptions): { readonly title: string; readonly content: Html } {
  const codes = new Set<string>();
  const marked = new Marked({
    renderer: {
      html: ({ text }) => (text.startsWith('<!--') ? '' : escaped(text)),
      heading({ tokens, depth, text }) {
        const id = anchorOf(text);
        const label = this.parser.parseInline(tokens);
        return `<h${depth} id="${id}">${label} ${anchorText(id, text)}</h${depth}>\n`;
      },
      link({ href, tokens }) {
        const label = this.parser.parseInline(tokens);
        const target = link(href);
        return target === undefined ? label : `<a href="${escaped(target)}">${label}</a>`;
      },
      code: ({ text, lang }) => `${codeText(text, lang)}\n`,
      table(table) {
        const cells = (row: Tokens.TableCell[], tag: string) =>
          row.map(({ tokens }) => `<${tag}>${this.parser.parseInline(tokens)}</${tag}>`).join('');
        const rows = table.rows.map((row) => `<tr${rowId(row[0], codes)}>${cells(row, 'td')}</tr>`);
        return `<div class="wide" tabindex="0"><table><thead><tr>${cells(table.header, 'th')}</tr></thead><tbody>${rows.join('\n')}</tbody></table></div>\n`;
      },
    },
  });
  const [, title = ''] = /^# +(.+)$/m.exec(markdown) ?? [];
  const text = marked.parse(markdown.replace(/^# +.+$/m, ''), { async: false });
  return { title, content: raw(text) };
}

/** The first row about an error code has the code as its anchor. */
function rowId(cell: Tokens.TableCell | undefined, codes: Set<string>): string {
  const [, code] = /^`([A-Z][A-Z_]+)`$/.exec(cell?.text ?? '') ?? [];
  if (code === undefined || codes.has(code)) return '';
  codes.add(code);
  return ` id="${code}"`;
}

/** The anchor of a heading as GitHub makes it: lower case, without punctuation, spaces as hyphens. */
export function anchorOf(heading: string): string {
  return heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\p{M}_\- ]/gu, '')
    .replaceAll(' ', '-');
}

/** The link of a heading to itself. */
export function anchor(id: string, title: string): Html {
  return raw(anchorText(id, title));
}

function anchorText(id: string, title: string): string {
  return `<a class="anchor" href="#${id}" aria-label="Link to ${escaped(title.replaceAll('`', ''))}">#</a>`;
}

/** A block of code that can be scrolled by keys, with a place for a copy button. */
export function codeBlock(text: string, language?: string): Html {
  return raw(codeText(text, language));
}

function codeText(text: string, language = ''): string {
  return `<div class="code"><pre tabindex="0"><code>${coloured(text, language)}</code></pre></div>`;
}

const STRING = /"(?:[^"\\\n]|\\.)*"|'(?:[^'\\]|\\.)*'/;
const COMMENTS: Readonly<Record<string, RegExp>> = {
  slashes: /\/\/[^\n]*/,
  hash: /(?<=^|\s)#[^\n]*/,
};

/** Marks strings and comments; the rest stays plain. */
function coloured(text: string, language: string): string {
  const comment = COMMENTS[/^(ts|js|typescript|javascript|json)/.test(language) ? 'slashes' : 'hash'] as RegExp;
  const pattern = new RegExp(`(${STRING.source})|(${comment.source})`, 'gm');
  let [marked, from] = ['', 0];
  for (const { 0: whole, 1: string, index } of text.matchAll(pattern)) {
    marked += `${escaped(text.slice(from, index))}<span class="${string === undefined ? 'c' : 's'}">${escaped(whole)}</span>`;
    from = index + whole.length;
  }
  return marked + escaped(text.slice(from));
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');
}
