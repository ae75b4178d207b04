// Goal: docs/grpc.md lists every service, scope and code of the front, and no others.
// Method: the tables of docs/grpc.md and its sentence about scopes, compared with the code's own lists, both ways.
import { status as Status } from '@grpc/grpc-js';
import { expect } from 'chai';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ACCESS_METHODS } from '../../apps/grpc/access.js';
import { OPERATOR_SCOPES } from '../../apps/grpc/callers.js';
import { CREDIT_METHODS } from '../../apps/grpc/credits.js';
import { GRPC_STATUSES } from '../../apps/grpc/error-status.js';
import { GENERATION_METHODS, WATCH_METHODS } from '../../apps/grpc/generations.js';
import type { ServedMethod, ServedStream } from '../../apps/grpc/method.js';
import { OPERATIONS_METHODS } from '../../apps/grpc/operations.js';
import { PEOPLE_METHODS } from '../../apps/grpc/people.js';
import { CATALOG_METHODS, UPLOAD_METHODS } from '../../apps/grpc/uploads-and-catalog.js';
import { WEBHOOK_METHODS } from '../../apps/grpc/webhooks.js';
import { SCOPES } from '../../core/access/credential.js';
import { type ErrorCode, ERRORS } from '../../core/errors.js';
import { plain, readPage, ROOT, tablesOf } from './pages.js';

/** Codes that only HTTP returns. */
const OF_HTTP: readonly string[] = ['ROUTE_NOT_FOUND', 'METHOD_NOT_ALLOWED', 'BODY_TOO_LARGE'] satisfies ErrorCode[];

const SERVED = [
  ...GENERATION_METHODS,
  ...UPLOAD_METHODS,
  ...WEBHOOK_METHODS,
  ...CREDIT_METHODS,
  ...CATALOG_METHODS,
  ...ACCESS_METHODS,
  ...PEOPLE_METHODS,
  ...OPERATIONS_METHODS,
  ...WATCH_METHODS,
];

const page = readPage('docs/grpc.md');
const rowsUnder = (column: string) =>
  tablesOf(page)
    .filter(({ columns }) => columns[0] === column)
    .flatMap(({ rows }) => rows);

describe('docs/grpc.md', () => {
  it('has every code that a call can be refused with once, under its status', () => {
    const documented = rowsUnder('Status').flatMap(([status = '', codes = '']) =>
      [...codes.matchAll(/`([A-Z_]+)`/g)].map(([, code]) => `${plain(status)}: ${code}`),
    );
    const known = Object.keys(ERRORS)
      .filter((code) => !OF_HTTP.includes(code))
      .map((code) => `${Status[GRPC_STATUSES[code as ErrorCode]]}: ${code}`);
    expect(documented.sort()).to.deep.equal(known.sort());
  });

  it('has every scope once', () => {
    const documented = rowsUnder('Scope').map(([scope = '']) => plain(scope));
    expect(documented.sort()).to.deep.equal([...SCOPES, ...OPERATOR_SCOPES].sort());
  });

  it('has every method under the scope it needs', () => {
    const documented = rowsUnder('Scope').flatMap(([scope = '', methods = '']) =>
      [...methods.matchAll(/`([A-Za-z]+)`/g)].map(([, method]) => `${plain(scope)}: ${method}`),
    );
    const served = SERVED as unknown as readonly (ServedMethod | ServedStream)[];
    const known = served.flatMap(({ method, scope }) => (scope === undefined ? [] : [`${scope}: ${method.name}`]));
    expect(documented.sort()).to.deep.equal(known.sort());
  });

  it('has every service of the proto files', () => {
    const folder = join(ROOT, 'proto/darkroom/v1');
    const texts = readdirSync(folder).map((name) => readFileSync(join(folder, name), 'utf8'));
    const services = texts.flatMap((text) =>
      [...text.matchAll(/^service (\w+) \{$/gm)].map(([, service = '']) => service),
    );
    expect(
      rowsUnder('Service')
        .map(([name = '']) => plain(name))
        .sort(),
    ).to.deep.equal(services.sort());
  });
});
