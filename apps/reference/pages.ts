/** The pages of the reference and what is on them. */
import { posix } from 'node:path';
import { html } from 'hono/html';
import type { ApiDocument, Operation } from './document.js';
import { anchor, codeBlock, type Html, page as markdownPage } from './markup.js';
import { commonCodes, operationSection, pathText } from './operation-section.js';
import type { Page, Place } from './page.js';

export interface Sources {
  readonly developer: ApiDocument;
  readonly openAi: ApiDocument;
  /** Markdown about the error codes. */
  readonly errors: string;
  /** Guides in Markdown, by their path in the project. */
  readonly guides: ReadonlyMap<string, string>;
}

const START = 'Start';
const REQUESTS = 'Requests';

/** Every page, in the order of the navigation. */
export function referencePages({ developer, openAi, errors, guides }: Sources): readonly Page[] {
  const resources = [...new Set(developer.operations.map(({ resource }) => resource))];
  const guidePages = guidePagesOf(guides);
  return [
    startPage(developer),
    errorPage(errors, guides),
    ...resources.map((resource) => resourcePage(resource, developer)),
    openAiPage(openAi),
    ...guidePages,
  ];
}

function startPage({ operations }: ApiDocument): Page {
  const about = 'Every request of the API with its fields, answers and errors.';
  return {
    name: 'index',
    title: 'API reference',
    group: START,
    entries: [],
    about,
    content: (place) =>
      html`<p class="lead">
          ${about} Generate pictures and videos, pay in credits, and follow the work by polling, by events or by
          webhooks.
        </p>
        <div class="operation">
          <div class="about-operation">
            <h2 id="setup">Set up ${anchor('setup', 'Set up')}</h2>
            <p>
              The samples read the address of the service and an API key from the environment. Create a key in the
              ${place.isServed ? html`<a href="${place.outside('')}">console</a>` : 'console'}, or have an operator
              create one. The clients for
              <a href="${clientPage(place, 'typescript')}">TypeScript</a> and
              <a href="${clientPage(place, 'python')}">Python</a> have a method for most requests.
            </p>
            <h2 id="requests">Requests ${anchor('requests', 'Requests')}</h2>
            <p>
              Bodies are JSON. A request that creates something takes an <code>Idempotency-Key</code>: with the same key
              it is done once, however often it is sent.
            </p>
            <h2 id="responses">Responses ${anchor('responses', 'Responses')}</h2>
            <p>
              Every JSON response has this envelope. <code>data</code> is what the reference shows; it is absent from a
              refusal, whose <code>code</code> is one of the <a href="${place.to('errors')}">error codes</a>. Quote
              <code>request_id</code> to the operator. Limits in this reference are the defaults; where an operator can
              change one, it says so.
            </p>
            ${
              place.isServed
                ? html`<p>
                    The <a href="${place.outside('openapi.json')}" data-service>OpenAPI document</a> has the limits of
                    this service.
                  </p>`
                : ''
            }
          </div>
          <div class="samples">
            <div data-base-url>${codeBlock(SETUP)}</div>
            ${codeBlock(ENVELOPE, 'json')}
          </div>
        </div>
        <h2 class="all" id="all">All requests ${anchor('all', 'All requests')}</h2>
        ${requestTable(operations, place)}`,
  };
}

const SETUP = `export DARKROOM_URL=http://127.0.0.1:8080
export DARKROOM_API_KEY=svc_live_…`;

const ENVELOPE = `{
  "success": true,
  "code": "OK",
  "message": "OK",
  "request_id": "0199f0d2-6d1c-7c4e-9a53-3f2b8e1d7a60",
  "data": { }
}`;

function clientPage(place: Place, language: string): string {
  return place.isServed ? place.to(`guides/clients-${language}`) : place.outside(`clients/${language}.html`);
}

function requestTable(operations: readonly Operation[], place: Place): Html {
  return html`<table class="requests">
    <thead>
      <tr>
        <th scope="col">Request</th>
        <th scope="col">Does</th>
      </tr>
    </thead>
    <tbody>
      ${operations.map(
        ({ operationId, method, path, resource, summary }) =>
          html`<tr id="${operationId}">
            <td><span class="method">${method}</span> <code>${pathText(path)}</code></td>
            <td><a href="${place.to(resource, operationId)}">${summary}</a></td>
          </tr> `,
      )}
    </tbody>
  </table>`;
}

const ABOUT: Readonly<Record<string, string>> = {
  models: 'The models of the catalog, their operations, parameters and prices.',
  credits: "The account's balance and its ledger.",
  usage: 'What was used, by day, model, key or trace id.',
  generations: 'Create pictures and videos, follow them and fetch their outputs.',
  events: 'Follow all generations of the App in one stream.',
  uploads: 'Send reference files for generations.',
  webhooks: 'Have addresses told of what happens to generations.',
};

function resourcePage(resource: string, document: ApiDocument): Page {
  const operations = document.operations.filter((operation) => operation.resource === resource);
  const about = ABOUT[resource] ?? '';
  return {
    name: resource,
    title: capital(resource),
    group: REQUESTS,
    entries: operations.map(entryOf),
    about,
    content: (place) =>
      html`<p class="lead">${about}</p>
        ${sectionsOf(operations, document, place)}`,
  };
}

function openAiPage(document: ApiDocument): Page {
  const about = 'Images and videos as clients of OpenAI request them, priced and charged in credits.';
  return {
    name: 'openai',
    title: 'OpenAI-compatible',
    group: REQUESTS,
    entries: document.operations.map(entryOf),
    about,
    content: (place) =>
      html`<p class="lead">${about} The base URL is <code>$DARKROOM_URL/v1</code>.</p>
        <p>
          A service whose operator has disabled this API answers <code>ROUTE_NOT_FOUND</code>.
          ${place.isServed ? html`<a href="${place.outside('v1/openapi.json')}">OpenAPI document</a>` : ''}
        </p>
        ${sectionsOf(document.operations, document, place)}`,
  };
}

function sectionsOf(operations: readonly Operation[], document: ApiDocument, place: Place): Html {
  const parts = { common: commonCodes(document), errorLink: (code: string) => place.to('errors', code) };
  return html`${operations.map((operation) => operationSection(operation, parts))}`;
}

function entryOf({ operationId, summary, method, path }: Operation) {
  return { id: operationId, title: summary, method, path };
}

function capital(word: string): string {
  return word.slice(0, 1).toUpperCase() + word.slice(1);
}

const ERRORS_PATH = 'docs/errors.md';

function errorPage(markdown: string, guides: ReadonlyMap<string, string>): Page {
  const about = 'Every error code, when it is answered and what to do about it.';
  return {
    name: 'errors',
    title: 'Errors',
    group: START,
    entries: [],
    about,
    content: (place) => guideText(ERRORS_PATH, markdown, guides, place),
  };
}

/** Titles for guides whose own are unclear beside the others. */
const TITLES: Readonly<Record<string, string>> = {
  'docs/api/README.md': 'About the API',
  'docs/api/conventions.md': 'Conventions',
  'docs/openai.md': 'OpenAI clients',
  'docs/mcp.md': 'MCP server',
  'clients/typescript/README.md': 'TypeScript client',
  'clients/python/README.md': 'Python client',
};

function guidePagesOf(guides: ReadonlyMap<string, string>): readonly Page[] {
  return [...guides].map(([path, markdown]) => {
    const title = TITLES[path] ?? markdownPage(markdown, { link: () => undefined }).title;
    return {
      name: guideName(path),
      title,
      group: 'Guides',
      entries: [],
      about: title,
      content: (place) => guideText(path, markdown, guides, place),
    };
  });
}

function guideText(path: string, markdown: string, guides: ReadonlyMap<string, string>, place: Place): Html {
  return html`<div class="guide">${markdownPage(markdown, { link: linkFrom(path, guides, place) }).content}</div>`;
}

/** `docs/api/uploads.md` is `guides/api-uploads`, and a README the name of its folder. */
function guideName(path: string): string {
  const name = path.replace(/^docs\//, '').replace(/(\/README)?\.md$/, '');
  return `guides/${name.replaceAll('/', '-').toLowerCase()}`;
}

/** Links between guides lead to their pages here. Those to files that are not here become plain text. */
function linkFrom(from: string, guides: ReadonlyMap<string, string>, place: Place) {
  return (target: string): string | undefined => {
    if (/^([a-z]+:|#)/.test(target)) return target;
    const [path = '', heading] = target.split('#');
    const named = posix.normalize(posix.join(posix.dirname(from), path));
    if (named === ERRORS_PATH) return place.to('errors', heading);
    if (guides.has(named)) return place.to(guideName(named), heading);
    return place.isServed ? undefined : siteAddress(named, heading, place);
  };
}

/** The address of a page of docs/ in the documentation site. */
function siteAddress(path: string, heading: string | undefined, place: Place): string | undefined {
  if (!path.startsWith('docs/') || !path.endsWith('.md')) return undefined;
  const page = path
    .slice('docs/'.length)
    .replace(/\.md$/, '.html')
    .replace(/README\.html$/, 'index.html');
  return place.outside(page) + (heading === undefined ? '' : `#${heading}`);
}
