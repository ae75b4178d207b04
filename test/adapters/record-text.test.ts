// Goal: this release reads a record that any release wrote, and the previous release reads what this one writes.
// Method: the text itself, as the previous release wrote and read it, and as the next release may.
import { expect } from 'chai';
import { recordFrom, recordText } from '../../adapters/record-text.js';
import type { GenerationRecord } from '../../core/generation/generation.js';
import { aGeneration } from '../fixtures/stored-records.js';

describe('the text of a record', () => {
  const record: GenerationRecord = aGeneration(1, { dueAt: 7 });
  const { dueAt, ...rest } = record;

  it('has the name that the release before reads', () => {
    expect(JSON.parse(recordText(record)))
      .to.include({ attentionAt: dueAt, generationId: record.generationId })
      .and.not.to.have.property('dueAt');
  });

  it('is read as the release before wrote it, every field of it', () => {
    expect(recordFrom(JSON.stringify({ ...rest, attentionAt: 7 }))).to.deep.equal(record);
    expect(recordFrom(recordText(record))).to.deep.equal(record);
  });

  it('is read exactly when what a client sent has a field of that name at its end', () => {
    const parameters = { a: '"attentionAt":1}', nested: { attentionAt: 5 }, attentionAt: 6 };
    const asked: GenerationRecord = aGeneration(1, { dueAt: 7, parameters });
    const { parameters: _, dueAt: __, ...others } = asked;
    expect(recordFrom(recordText(asked))).to.deep.equal(asked);
    for (const text of [
      JSON.stringify({ attentionAt: 7, ...others, parameters }),
      JSON.stringify({ ...others, parameters, attentionAt: 7 }),
    ])
      expect(recordFrom(text)).to.deep.equal(asked);
  });

  it('is read under the new name too', () => {
    expect(recordFrom(JSON.stringify(record))).to.deep.equal(record);
  });
});
