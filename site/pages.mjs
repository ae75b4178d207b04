/** The Markdown pages of the site: those of docs/ and the project's own, with links that work there. */
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join, posix } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { grpcReference } from './grpc-reference.mjs';
import { REFERENCE, sidebarOf } from './navigation.mjs';

const HERE = fileURLToPath(new URL('./', import.meta.url));
const IMAGES = 'docs/images';

/** Pages outside docs/, by their path in the site. */
const OTHERS = {
  'README.md': 'overview.md',
  'CHANGELOG.md': 'changelog.md',
  'CONTRIBUTING.md': 'contributing.md',
  'SECURITY.md': 'security.md',
  'clients/typescript/README.md': 'clients/typescript.md',
  'clients/python/README.md': 'clients/python.md',
};

/** Writes the source of the site into `folder`: pages, references and VitePress' configuration. */
export async function stagePages(root, folder, { repository, base }) {
  const sources = new Map([
    ...docsPages(root, 'docs').map((path) => [path, path.slice('docs/'.length).replace(/README\.md$/, 'index.md')]),
    ...Object.entries(OTHERS),
  ]);
  const pages = new Map(
    [...sources].map(([path, place]) => [place, siteText(readFileSync(join(root, path), 'utf8'), path)]),
  );
  pages.set('reference/grpc.md', grpcReference(root));
  for (const [place, text] of pages) write(join(folder, place), text);
  cpSync(join(root, IMAGES), join(folder, 'images'), { recursive: true });
  await stageReference(root, join(folder, 'public'));
  for (const name of ['config.mjs', 'diagrams.mjs'])
    write(join(folder, '.vitepress', name), readFileSync(join(HERE, name)));
  cpSync(join(HERE, 'theme'), join(folder, '.vitepress/theme'), { recursive: true });
  write(join(folder, '.vitepress/site.json'), JSON.stringify({ sidebar: sidebarOf(pages), repository, base }));

  function siteText(text, path) {
    return outsideFences(text, (prose) =>
      prose
        .replace(/<!--[\s\S]*?-->/g, '')
        .replace(CODE_OR_LINK, (whole, image, label, target) =>
          target === undefined || /^([a-z]+:|#)/.test(target) ? whole : linkTo(path, image, label, target),
        ),
    );
  }

  /** Links to files outside the site lead to the repository. Without a repository address they become plain text. */
  function linkTo(from, image, label, target) {
    const [path, anchor] = target.split('#');
    const named = posix.normalize(posix.join(posix.dirname(from), path)).replace(/\/$/, '');
    const page = sources.has(`${named}/README.md`) ? `${named}/README.md` : named;
    const place = named.startsWith(`${IMAGES}/`) ? named.slice('docs/'.length) : sources.get(page);
    if (place !== undefined) {
      const relative = posix.relative(posix.dirname(sources.get(from)), place);
      return `${image}[${label}](${relative.startsWith('.') ? relative : `./${relative}`}${anchor ? `#${anchor}` : ''})`;
    }
    if (!existsSync(join(root, named))) throw new Error(`${from} links to ${target}, which does not exist.`);
    if (repository === undefined) return label;
    const kind = statSync(join(root, named)).isDirectory() ? 'tree' : 'blob';
    return `[${label}](${repository}/${kind}/HEAD/${named})`;
  }
}

/** The reference of the REST API as a service has it at /docs. VitePress copies its pages unchanged. The program must be built. */
async function stageReference(root, folder) {
  const { assetsIn, sitePages } = await import(pathToFileURL(join(root, 'dist/apps/reference/reference.js')).href);
  const assets = join(root, 'dist/reference/assets');
  const names = readdirSync(assets);
  const pages = sitePages(root, REFERENCE, assetsIn(names));
  for (const [name, text] of pages) write(join(folder, REFERENCE, name), text);
  for (const name of names.filter((one) => /\.(css|js|woff2)$/.test(one)))
    cpSync(join(assets, name), join(folder, REFERENCE, 'assets', name));
}

function docsPages(root, folder) {
  return readdirSync(join(root, folder), { withFileTypes: true }).flatMap((entry) => {
    if (entry.isDirectory()) return docsPages(root, `${folder}/${entry.name}`);
    return entry.name.endsWith('.md') ? [`${folder}/${entry.name}`] : [];
  });
}

/** A code span, which stays as it is, or a link, whose label may contain code spans. */
const CODE_OR_LINK = /`[^`\n]+`|(!?)\[((?:`[^`\n]+`|[^\][`]|\[[^\]]*\])*)\]\(([^)\s]+)\)/g;

/** Changes the parts of a Markdown text outside fenced code. */
function outsideFences(text, change) {
  return text
    .split(/(^ *`{3,}[^\n]*\n[\s\S]*?^ *`{3,} *$)/m)
    .map((part, index) => (index % 2 === 0 ? change(part) : part))
    .join('');
}

function write(path, text) {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
}
