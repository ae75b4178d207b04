import type { Fault } from '../../providers/fakes/fake-server.js';

type Named = readonly [name: string, fault: Fault];

/** Answers that are JSON, but in no vendor's documented format. */
export function otherShapes(): readonly Named[] {
  return ['[]', 'null', '{}', '42', '"text"', ''].map((body) => [
    `its answer is ${body === '' ? 'empty' : body}`,
    { type: 'status', status: 200, headers: { 'content-type': 'application/json' }, body, isHandled: true },
  ]);
}

/** Answers to a question that say nothing about a task. */
export const SILENCES: readonly Named[] = [
  ['the answer is lost', { type: 'lose-answer' }],
  ['the connection is closed', { type: 'drop' }],
  ['the answer is truncated', { type: 'truncated' }],
  ['a page of HTML answers with status 200', { type: 'html', status: 200 }],
  ['a page of HTML answers with status 502', { type: 'html', status: 502 }],
  ['a page of HTML answers with status 404', { type: 'html', status: 404 }],
  ['status 500 answers without a body', { type: 'status', status: 500 }],
  ['status 429 answers without a body', { type: 'status', status: 429 }],
  ['status 401 answers without a body', { type: 'status', status: 401 }],
  ['the answer declares another type', { type: 'wrong-type' }],
  ...otherShapes(),
];
