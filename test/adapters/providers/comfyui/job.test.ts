/*
 * Goal: what a server says of a task is read as it is meant, and anything else is an error and never a state.
 * Method: answers as real servers were seen to give them, and arbitrary JSON.
 */
import { expect } from 'chai';
import fc from 'fast-check';
import { AnswerUnreadable, jobOf, jobOfHistory } from '../../../../adapters/providers/comfyui/job.js';

const TOKEN = '0199f0d2-8e60-4b21-9f0e-c2a4d8e6b170';
const FILE = { filename: '1_00001_.png', subfolder: `darkroom/${TOKEN}`, type: 'output' };
const READ = { filename: FILE.filename, subfolder: FILE.subfolder };
const OUTPUTS = { 4: { images: [FILE] }, 3: { text: ['a lighthouse'] }, 5: { images: [{ ...FILE, type: 'temp' }] } };
const EMPTY_QUEUE = { queue_running: [], queue_pending: [] };
const itemOf = (id: string) => [0, id, {}, {}, ['4']];

describe('a job of a ComfyUI server', () => {
  const read = (job: object) => jobOf(TOKEN, { id: TOKEN, ...job });

  it('is read from the route for jobs', () => {
    expect(read({ status: 'pending' })).to.deep.equal({ state: 'queued' });
    expect(read({ status: 'in_progress' })).to.deep.equal({ state: 'running' });
    expect(read({ status: 'completed', outputs: OUTPUTS })).to.deep.equal({ state: 'completed', files: [READ] });
    expect(read({ status: 'cancelled', outputs: {} })).to.deep.equal({ state: 'cancelled', files: [] });
    expect(read({ status: 'failed', execution_error: { node_id: '8', exception_type: 'ValueError' } })).to.deep.equal({
      state: 'failed',
      error: { node: '8', exceptionType: 'ValueError' },
    });
    expect(read({ status: 'failed' })).to.deep.equal({ state: 'failed', error: {} });
  });

  it('runs where its status is not known, and has no status in the answer about something else', () => {
    expect(read({ status: 'waiting_for_gpu' })).to.deep.equal({ state: 'running', unknownStatus: 'waiting_for_gpu' });
    for (const other of [
      { status: 'failed' },
      { id: 'another', status: 'completed' },
      { status: 'error', error: 'No upstream' },
      { id: TOKEN },
      { id: TOKEN, status: '' },
      { id: TOKEN, status: 404 },
    ])
      expect(() => jobOf(TOKEN, other), JSON.stringify(other)).to.throw(AnswerUnreadable);
  });

  it('is missed only where the queue and an empty history say so', () => {
    expect(jobOfHistory(TOKEN, EMPTY_QUEUE, {})).to.deep.equal({ state: 'unknown' });
    for (const [queue, history] of [
      [EMPTY_QUEUE, { error: 'Bad gateway' }],
      [EMPTY_QUEUE, { another: { outputs: {} } }],
      [EMPTY_QUEUE, []],
      [{ error: 'Bad gateway' }, {}],
      [{}, {}],
      [{ queue_running: [] }, {}],
    ] as const)
      expect(() => jobOfHistory(TOKEN, queue, history), JSON.stringify([queue, history])).to.throw(AnswerUnreadable);
  });

  it('is read from the queue and the history, which has the last word', () => {
    const running = { queue_running: [itemOf(TOKEN)], queue_pending: [] };
    const pending = { queue_running: [itemOf('other')], queue_pending: [itemOf('another'), itemOf(TOKEN)] };
    const ended = (status: object) => ({ [TOKEN]: { outputs: OUTPUTS, status } });
    const error = (event: string, of: object) =>
      ended({
        status_str: 'error',
        messages: [
          ['execution_start', {}],
          [event, of],
        ],
      });
    expect(jobOfHistory(TOKEN, running, {})).to.deep.equal({ state: 'running' });
    expect(jobOfHistory(TOKEN, pending, {})).to.deep.equal({ state: 'queued' });
    expect(jobOfHistory(TOKEN, running, ended({ status_str: 'success' }))).to.deep.equal({
      state: 'completed',
      files: [READ],
    });
    expect(jobOfHistory(TOKEN, EMPTY_QUEUE, error('execution_interrupted', {}))).to.deep.equal({
      state: 'cancelled',
      files: [READ],
    });
    expect(jobOfHistory(TOKEN, EMPTY_QUEUE, error('execution_error', { node_id: 8 }))).to.deep.equal({
      state: 'failed',
      error: { node: '8' },
    });
  });

  it('is never made up from another answer', () => {
    const isState = (look: () => unknown) => {
      try {
        return look();
      } catch (error) {
        expect(error).to.be.instanceOf(AnswerUnreadable);
        return undefined;
      }
    };
    fc.assert(
      fc.property(fc.jsonValue(), fc.jsonValue(), (one, other) => {
        expect(isState(() => jobOf(TOKEN, one))).to.equal(undefined);
        expect(isState(() => jobOfHistory(TOKEN, one, other))).to.equal(undefined);
      }),
    );
    fc.assert(
      fc.property(
        fc.constantFrom('completed', 'cancelled', 'failed'),
        fc.jsonValue(),
        fc.jsonValue(),
        (status, outputs, error) => {
          isState(() => read({ status, outputs, execution_error: error }));
          isState(() => jobOfHistory(TOKEN, EMPTY_QUEUE, { [TOKEN]: { outputs, status: error } }));
        },
      ),
    );
  });

  it('has no more files than any task', () => {
    const images = Array.from({ length: 1_001 }, () => FILE);
    expect(() => read({ status: 'completed', outputs: { 4: { images } } })).to.throw(
      AnswerUnreadable,
      'more than 1000 files',
    );
  });
});
