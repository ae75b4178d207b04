/*
 * Goal: a reference that our own store does not give as it should be is never sent whole, and its request is known to have ended early.
 * Method: references that break, end early or go on too long, read as a request reads them.
 */
import { expect } from 'chai';
import type { ProviderReference } from '../../../../core/ports/provider.js';
import {
  REFERENCE_UNREAD,
  ReferenceUnprepared,
  WholeReferences,
} from '../../../../adapters/providers/shared/whole-references.js';
import { breakingOff, inPieces } from '../../../fixtures/byte-streams.js';
import { SILENT } from '../../../fixtures/silent-log.js';

const BYTES = Buffer.from('0123456789');
const WANTED = { aborted: false };
const ABOUT = { instance: 'studio', log: SILENT };

/** What of the reference came, and what came of its request. */
async function sent(open: ProviderReference['open'], signal = WANTED) {
  const reference = { role: 'reference_image', mediaType: 'image/png', byteSize: BYTES.byteLength, open } as const;
  const whole = new WholeReferences([reference], ABOUT);
  let text = '';
  const request = async () => {
    for await (const piece of await whole.references[0]!.open()) text += Buffer.from(piece).toString();
    return 'taken';
  };
  const outcome = await whole.sent(request(), signal).catch((error: unknown) => (error as Error).message);
  return { text, outcome };
}

describe('references that a request reads', () => {
  it('come as they are, any number of times', async () => {
    const open = async () => inPieces(BYTES, 3);
    expect(await sent(open)).to.deep.equal({ text: '0123456789', outcome: 'taken' });
    const whole = new WholeReferences(
      [{ role: 'reference_image', mediaType: 'image/png', byteSize: BYTES.byteLength, open }],
      ABOUT,
    );
    for (let round = 0; round < 2; round += 1) {
      const pieces: Uint8Array[] = [];
      for await (const piece of await whole.references[0]!.open()) pieces.push(piece);
      expect(Buffer.concat(pieces).equals(BYTES)).to.equal(true);
    }
  });

  const broken: readonly (readonly [string, ProviderReference['open']])[] = [
    ['break before their first byte', () => Promise.reject(new Error('There is no such object.'))],
    ['break in the middle', async () => breakingOff(BYTES.subarray(0, 5))],
    ['break after their last byte', async () => breakingOff(BYTES)],
    ['are too short', async () => inPieces(BYTES.subarray(1), 3)],
    ['are too long', async () => inPieces(Buffer.concat([BYTES, BYTES]), 3)],
  ];
  for (const [name, open] of broken)
    it(`never come whole where they ${name}, and their task is refused`, async () => {
      const { text, outcome } = await sent(open);
      expect(text.length).to.be.lessThan(BYTES.byteLength);
      expect(outcome).to.equal(REFERENCE_UNREAD);
    });

  it('never come whole again where other bytes are there by then, and their task is refused', async () => {
    const readings = ['0123456789', '0123456780', '0123456789'].map((text) => Buffer.from(text));
    const open = async () => inPieces(readings.shift()!, 3);
    const whole = new WholeReferences(
      [{ role: 'reference_image', mediaType: 'image/png', byteSize: BYTES.byteLength, open }],
      ABOUT,
    );
    const texts: string[] = [];
    const read = async () => {
      let text = '';
      try {
        for await (const piece of await whole.references[0]!.open()) text += Buffer.from(piece).toString();
      } finally {
        texts.push(text);
      }
    };
    await read();
    expect(await whole.sent(read(), WANTED)).to.equal(REFERENCE_UNREAD);
    await read();
    expect(texts).to.deep.equal(['0123456789', '012345678', '0123456789']);
  });

  it('say in the log why they could not be read or prepared, as the client is not told', async () => {
    const told: unknown[] = [];
    const log = { ...SILENT, warn: (event: string, about: object) => void told.push({ event, ...about }) };
    const open = async () => breakingOff(BYTES);
    const whole = new WholeReferences(
      [{ role: 'reference_image', mediaType: 'image/png', byteSize: BYTES.byteLength, open }],
      { instance: 'studio', log },
    );
    const unprepared = Promise.reject(new ReferenceUnprepared(new Error('ENOSPC: no space left on device')));
    expect(await whole.sent(unprepared, WANTED)).to.equal(REFERENCE_UNREAD);
    const read = async () => {
      for await (const piece of await whole.references[0]!.open()) void piece;
    };
    expect(await whole.sent(read(), WANTED)).to.equal(REFERENCE_UNREAD);
    await whole.sent(read(), { aborted: true }).catch(() => undefined);
    const event = { event: 'reference file not read', provider: 'studio' };
    expect(told).to.deep.equal([
      { ...event, reason: 'ENOSPC: no space left on device' },
      { ...event, reason: 'the line broke' },
    ]);
  });

  it('leave the failure of a request as it is where it is not theirs, or the call was aborted', async () => {
    const whole = new WholeReferences([], ABOUT);
    const failing = whole.sent(Promise.reject(new Error('The line broke.')), WANTED);
    expect(await failing.catch((error: unknown) => (error as Error).message)).to.equal('The line broke.');
    const { outcome } = await sent(async () => breakingOff(BYTES), { aborted: true });
    expect(outcome).to.equal('the line broke');
  });
});
