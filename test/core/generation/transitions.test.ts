// Goal: a generation makes the table's transitions and no others.
// Method: every status with every event, against a second copy of the table in this file, and against `decide` itself
// on a generation that meets each event's own conditions.
import { expect } from 'chai';
import { type GenerationEvent, TRANSITIONS } from '../../../core/generation/decide.js';
import { type GenerationStatus, STATUSES } from '../../../core/generation/generation.js';
import { commandOf, decideAt, generationIn } from './generations.js';

const AFTER_THE_END = ['settle', 'postpone', 'content-removed', 'outputs-removed', 'late-report', 'delete'];

/** Columns: from queued, from running. `-` is refused. */
const OPEN: Readonly<Record<GenerationEvent, readonly [string, string]>> = {
  'start': ['running', '-'],
  'take-over': ['-', 'running'],
  'renew': ['-', 'running'],
  're-lease': ['-', 'running'],
  'begin-attempt': ['-', 'running'],
  'accepted': ['-', 'running'],
  'submit-again': ['-', 'running'],
  'submission-ended': ['-', 'running'],
  'attempt-failed': ['-', 'running'],
  'attempt-undone': ['-', 'running'],
  'yield': ['-', 'running'],
  'allow-last-poll': ['-', 'running'],
  'cancel': ['cancelled', 'running'],
  'give-up': ['failed', '-'],
  'succeed': ['-', 'succeeded'],
  'fail': ['-', 'failed'],
  'stop': ['-', 'cancelled'],
  'expire': ['-', 'failed'],
  'postpone': ['queued', 'running'],
  'settle': ['-', '-'],
  'content-removed': ['-', '-'],
  'outputs-removed': ['-', '-'],
  'late-report': ['-', '-'],
  'delete': ['-', '-'],
};

function expected(status: GenerationStatus, event: GenerationEvent): string {
  if (status === 'queued') return OPEN[event][0];
  if (status === 'running') return OPEN[event][1];
  return AFTER_THE_END.includes(event) ? status : '-';
}

describe('generation transitions', () => {
  for (const status of STATUSES) {
    for (const event of Object.keys(OPEN) as GenerationEvent[]) {
      it(`${status}, ${event}: ${expected(status, event)}`, () => {
        expect(TRANSITIONS[status][event] ?? '-').to.equal(expected(status, event));
        const decision = decideAt(generationIn(status, event), commandOf(event), 2_000);
        expect('next' in decision ? decision.next.status : '-').to.equal(expected(status, event));
      });
    }
  }
});
