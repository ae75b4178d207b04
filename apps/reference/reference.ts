/** The text of every page of the reference, for a service and for the documentation site. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { JsonObject } from '../../core/json.js';
import { DEFAULT_SETTINGS, type Settings } from '../../core/settings.js';
import { openApiDocument } from '../http/developer/openapi.js';
import { ROUTES } from '../http/developer/routes.js';
import { EDIT_ENDPOINTS } from '../http/openai/edits.js';
import { IMAGE_ENDPOINTS } from '../http/openai/images.js';
import { MODEL_ENDPOINTS } from '../http/openai/models.js';
import { openAiDocument } from '../http/openai/openapi.js';
import { VIDEO_ENDPOINTS } from '../http/openai/videos.js';
import { markConfigurable, readDocument } from './document.js';
import { pageText, type Site } from './page.js';
import { referencePages, type Sources } from './pages.js';

/** The names of the style sheet and the scripts, which contain a hash of their content. */
export type Assets = Pick<Site, 'style' | 'script' | 'theme'>;

/** Finds them among the names of files. Throws if one is absent. */
export function assetsIn(names: readonly string[]): Assets {
  const named = (pattern: RegExp): string => {
    const found = names.find((name) => pattern.test(name));
    if (found === undefined) throw new Error(`The reference has no file ${pattern.source}.`);
    return found;
  };
  return { style: named(/\.css$/), script: named(/^reference-.*\.js$/), theme: named(/^theme-.*\.js$/) };
}

/** The pages below `/docs` of a service, by their file names. `root` is the folder of the project. */
export function servedPages(root: string, assets: Assets): ReadonlyMap<string, string> {
  return texts(readSources(root, GUIDES), {
    ...assets,
    addressOf: (name) => (name === 'index' ? 'docs' : `docs/${name}`),
    assets: 'docs/assets',
    home: '',
    isServed: true,
    links: [
      ['Guides', 'docs/guides/api'],
      ['OpenAPI', 'openapi.json'],
      // The start page leads to the console, where there is one.
      ['Console', ''],
    ],
  });
}

/** The pages in a folder of the documentation site, whose own pages are the guides. */
export function sitePages(root: string, folder: string, assets: Assets): ReadonlyMap<string, string> {
  return texts(readSources(root, []), {
    ...assets,
    addressOf: (name) => `${folder}/${name}.html`,
    assets: `${folder}/assets`,
    home: 'index.html',
    isServed: false,
    links: [['Guides', 'api/index.html']],
  });
}

function texts(sources: Sources, site: Site): ReadonlyMap<string, string> {
  const pages = referencePages(sources);
  return new Map(pages.map((page) => [`${page.name}.html`, pageText(page, pages, site)]));
}

/** The guides that are served, in the order of the navigation. */
const GUIDES: readonly string[] = [
  'docs/api/README.md',
  'docs/api/conventions.md',
  'docs/api/generations.md',
  'docs/api/models.md',
  'docs/api/files.md',
  'docs/api/uploads.md',
  'docs/api/masks.md',
  'docs/api/outputs.md',
  'docs/api/events.md',
  'docs/webhooks.md',
  'docs/api/webhooks.md',
  'docs/api/credits.md',
  'docs/openai.md',
  'docs/mcp.md',
  'clients/typescript/README.md',
  'clients/python/README.md',
];

function readSources(root: string, guides: readonly string[]): Sources {
  const read = (path: string): string => readFileSync(join(root, path), 'utf8');
  const developer = (settings: Settings): JsonObject =>
    JSON.parse(JSON.stringify(openApiDocument(ROUTES, settings))) as JsonObject;
  const endpoints = [...IMAGE_ENDPOINTS, ...EDIT_ENDPOINTS, ...VIDEO_ENDPOINTS, ...MODEL_ENDPOINTS];
  return {
    developer: readDocument(
      markConfigurable(developer(DEFAULT_SETTINGS), developer(changed(DEFAULT_SETTINGS) as Settings)) as JsonObject,
    ),
    openAi: readDocument(openAiDocument(endpoints)),
    errors: read('docs/errors.md'),
    guides: new Map(guides.map((path) => [path, read(path)])),
  };
}

/** The settings with every number changed, to see which limits of the document depend on them. */
function changed(value: unknown): unknown {
  if (typeof value === 'number') return value + 1;
  if (Array.isArray(value)) return value.map(changed);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, changed(inner)]));
}
