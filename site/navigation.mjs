/** The folder of the REST reference, whose pages VitePress does not make. */
export const REFERENCE = 'reference/rest';

/**
 * The order of the site's pages. A folder stands for its index and then its pages by name. A page that is not listed is
 * in the last group.
 */
const GROUPS = {
  'Try it': ['index.md', 'overview.md', 'cli.md', 'models.md', 'console.md'],
  'Call it': [
    'api/',
    'errors.md',
    'state-machine.md',
    'webhooks.md',
    'clients/',
    'openai.md',
    'mcp.md',
    'grpc.md',
    { text: 'REST reference', link: `/${REFERENCE}/index.html`, target: '_self' },
    { text: 'OpenAI-compatible reference', link: `/${REFERENCE}/openai.html`, target: '_self' },
    'reference/',
  ],
  'Run it': [
    'operating/index.md',
    'operating/start.md',
    'operating/security.md',
    'deploying/docker.md',
    'deploying/compose.md',
    'deploying/kubernetes.md',
    'operating/access.md',
    'operating/providers.md',
    'operating/backup.md',
    'operating/upgrade.md',
    'operating/metrics.md',
    'operating/log.md',
    'operating/maintenance.md',
    'operating/processes.md',
    'scaling.md',
    'operating/troubleshooting.md',
  ],
  'Models and providers': ['catalog.md', 'providers/'],
  'Extend it': ['writing-an-adapter.md', 'contributing.md', 'testing.md', 'releasing.md', 'changelog.md'],
  'Understand it': [
    'architecture.md',
    'ledger.md',
    'correctness.md',
    'security.md',
    'benchmarks.md',
    'terms.md',
    'decisions/',
  ],
};
const REST = 'More';
const CLOSED = new Set(['Models and providers', 'Extend it', 'Understand it', REST]);
/** Titles for the sidebar, for pages whose own title is unclear there. */
const TITLES = {
  'index.md': 'Start here',
  'overview.md': 'Overview',
  'clients/typescript.md': 'TypeScript client',
  'clients/python.md': 'Python client',
  'api/index.md': 'REST API',
};

/** VitePress' sidebar for the pages, given by their path in the site. */
export function sidebarOf(pages) {
  const listed = Object.entries(GROUPS).map(([text, entries]) => [
    text,
    entries.flatMap((entry) => expand(entry, pages)),
  ]);
  const known = new Set(listed.flatMap(([, places]) => places));
  return [...listed, [REST, [...pages.keys()].filter((place) => !known.has(place))]]
    .filter(([, places]) => places.length > 0)
    .map(([text, places]) => ({
      text,
      collapsed: CLOSED.has(text),
      items: places.map((place) => itemOf(place, pages)),
    }));
}

function itemOf(place, pages) {
  if (typeof place !== 'string') return place;
  return {
    text: TITLES[place] ?? titleOf(place, pages.get(place)),
    link: `/${place.replace(/\.md$/, '')}`,
  };
}

function expand(entry, pages) {
  if (typeof entry !== 'string') return [entry];
  if (!entry.endsWith('/')) return pages.has(entry) ? [entry] : [];
  const own = [...pages.keys()].filter((place) => place.startsWith(entry));
  return own.sort((a, b) => Number(b.endsWith('/index.md')) - Number(a.endsWith('/index.md')) || a.localeCompare(b));
}

function titleOf(place, text) {
  const [, title] = /^# +(.+)$/m.exec(text) ?? [];
  if (title === undefined) throw new Error(`${place} has no heading of the first level.`);
  return title.replaceAll('`', '');
}
