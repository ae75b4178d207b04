/**
 * Goal: docs/grpc.md and the gRPC front give every code the same status.
 * Method: read the page's table and compare it with GRPC_STATUSES, both ways.
 */
import { status as Status } from '@grpc/grpc-js';
import { expect } from 'chai';
import { GRPC_STATUSES } from '../../apps/grpc/statuses.js';
import { ERRORS, type ErrorCode } from '../../core/errors.js';
import { plain, readPage, tablesOf } from './pages.js';

/** What only requests of HTTP are refused with, or nothing over gRPC yet. */
const NOT_TOLD: readonly ErrorCode[] = ['ROUTE_NOT_FOUND', 'METHOD_NOT_ALLOWED', 'MEDIA_TYPE_UNSUPPORTED', 'BODY_TOO_LARGE', 'BODY_INVALID', 'RATE_LIMITED', 'REQUEST_TIMEOUT'];

const CODE = /`(?<code>[A-Z_]+)`/g;
const table = tablesOf(readPage('docs/grpc.md')).find(({ columns }) => columns[0] === 'Status');
const told = new Map((table?.rows ?? []).flatMap(([status, codes = '']) => [...codes.matchAll(CODE)].map((match) => [match.groups?.['code'] ?? '', plain(status)] as const)));

describe('docs/grpc.md', () => {
  it('gives each code the status that the front gives it', () => {
    for (const [code, status] of told) expect(Status[GRPC_STATUSES[code as ErrorCode]], code).to.equal(status);
  });

  it('has every code that a call may be refused with', () => {
    expect(told.size).to.be.greaterThan(15);
    const missing = (Object.keys(ERRORS) as ErrorCode[]).filter((code) => !told.has(code) && !NOT_TOLD.includes(code));
    expect(missing).to.deep.equal([]);
  });
});
