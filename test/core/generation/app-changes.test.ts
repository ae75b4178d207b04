// Goal: a stream of an App remembers no more than what may still change, tells the whole of a long past, forgets nothing that
// waits, and gives no id that leads past what it has not told.
// Method: generations are shown to the memory of one stream, as its past and as changes in between.
import { expect } from 'chai';
import { AppChanges, readEventId } from '../../../core/generation/events.js';
import type { Generation } from '../../../core/generation/generation.js';
import { aGeneration } from '../../fixtures/stored-records.js';

const NOW = Date.UTC(2026, 2, 14);
const HOUR_MS = 3_600_000;
const MINUTE_MS = 60_000;

function generation(number: number, changes: Partial<Generation> = {}): Generation {
  const generationId = `0199f0d2-0000-7000-8000-${number.toString(16).padStart(12, '0')}`;
  return { ...aGeneration(1), generationId, createdAt: NOW, updatedAt: NOW, ...changes };
}

function ended(number: number, at: number, version = 5): Generation {
  return generation(number, { status: 'succeeded', createdAt: at, updatedAt: at, completedAt: at, version });
}

describe('what a stream of an App remembers', () => {
  const anHourAgo = NOW - HOUR_MS;
  const resumed = () => new AppChanges(NOW, { completeTo: NOW - 2 * HOUR_MS });
  const drain = (changes: AppChanges, toldTo = NOW) => [...changes.events(toldTo)];

  it('leaves nothing of a long past out, whatever is written meanwhile, and keeps nothing of it', () => {
    const changes = resumed();
    let told = 0;
    for (let number = 0; number < 25_000; number += 1) {
      const events = changes.eventsOfPast(ended(number, anHourAgo));
      told += events.filter(({ type }) => type === 'ended').length;
      if (number % 1_000 === 0) changes.note(generation(100_000 + number));
    }
    expect(told).to.equal(25_000);
    expect(changes.remembered).to.equal(0);
    changes.pastIsTold();
    expect(drain(changes).filter(({ type }) => type === 'queued')).to.have.length(25);
  });

  it('tells nothing again of what ended long ago, though its record is written once more', () => {
    const changes = resumed();
    changes.eventsOfPast(ended(1, anHourAgo));
    changes.pastIsTold();
    changes.note(ended(1, anHourAgo, 6));
    expect(drain(changes)).to.deep.equal([]);
  });

  it('tells what is new of a generation that the past has shown to be open', () => {
    const changes = resumed();
    changes.eventsOfPast(generation(1, { createdAt: anHourAgo, updatedAt: anHourAgo, version: 1 }));
    changes.note({ ...ended(1, NOW), createdAt: anHourAgo });
    changes.pastIsTold();
    expect(drain(changes).map(({ type }) => type)).to.deep.equal(['ended']);
  });

  it('tells an end once, where the past shows it before an older version that waits and a look after it', () => {
    const changes = resumed();
    const begun = { createdAt: anHourAgo, version: 3, status: 'running', startedAt: anHourAgo + MINUTE_MS } as const;
    const over = { ...generation(1, begun), status: 'succeeded', version: 4, completedAt: NOW } as const;
    changes.note(generation(1, begun));
    expect(changes.eventsOfPast(over).map(({ type }) => type)).to.include('ended');
    changes.pastIsTold();
    expect(drain(changes)).to.deep.equal([]);
    changes.note(over);
    expect(drain(changes)).to.deep.equal([]);
  });

  it('gives all that waits together ids that lead back to before the oldest of it', () => {
    const changes = resumed();
    changes.pastIsTold();
    changes.note(ended(1, NOW + 20 * MINUTE_MS));
    changes.note(ended(2, NOW + MINUTE_MS));
    const marks = drain(changes, NOW).map(({ id }) => readEventId(id)?.completeTo);
    expect(new Set(marks)).to.deep.equal(new Set([NOW]));
  });

  it('begins at its own time behind an id of the future', () => {
    const changes = new AppChanges(NOW, { completeTo: NOW + HOUR_MS });
    expect(changes.from).to.equal(NOW - 2 * MINUTE_MS);
  });

  it('forgets what ended ten minutes ago once there is much of it, and looks for it seldom', () => {
    const changes = new AppChanges(NOW, undefined);
    for (let number = 0; number < 25_000; number += 1) {
      changes.note(ended(number, NOW + MINUTE_MS));
      drain(changes);
      changes.forgetEnded(NOW + MINUTE_MS);
    }
    expect(changes.remembered, 'ended less than ten minutes ago').to.equal(25_000);
    for (let number = 25_000; number < 60_000; number += 1) {
      changes.note(ended(number, NOW + HOUR_MS));
      drain(changes);
      changes.forgetEnded(NOW + HOUR_MS);
    }
    expect(changes.remembered).to.equal(35_000);
  });

  it('keeps neither prompts nor parameters of what waits', () => {
    const changes = new AppChanges(NOW, undefined);
    changes.note(generation(1, { prompt: 'long', negativePrompt: 'longer', parameters: { size: '1x1' } }));
    const [event] = drain(changes);
    expect(event?.generation).to.include({ prompt: '' }).and.not.to.have.property('negativePrompt');
    expect(event?.generation.parameters).to.deep.equal({});
  });
});
