// Goal: the mark of an output says what the operator, the model's entry and the generation say, in that order.
// Method: each of them with each of its values.
import { expect } from 'chai';
import { DEFAULT_MARK_POLICY, DIGITAL_SOURCE_TYPES, markOf } from '../../../core/media/ai-mark.js';

const MODEL = { displayName: 'Studio still' };
const [FROM_WORDS, FROM_FILES] = [{ references: [] }, { references: ['a file'] }];

describe('the mark of an output', () => {
  it('says by the references how it came into being, and names nothing by default', () => {
    expect(markOf(DEFAULT_MARK_POLICY, MODEL, FROM_WORDS)).to.deep.equal({ sourceType: 'trainedAlgorithmicMedia' });
    expect(markOf(DEFAULT_MARK_POLICY, MODEL, FROM_FILES)).to.deep.equal({
      sourceType: 'compositeWithTrainedAlgorithmicMedia',
    });
  });

  it('has the source type and the names that the catalog entry gives', () => {
    for (const source of DIGITAL_SOURCE_TYPES)
      for (const g of [FROM_WORDS, FROM_FILES])
        expect(markOf(DEFAULT_MARK_POLICY, { ...MODEL, mark: { source } }, g)).to.deep.equal({ sourceType: source });
    const named = { source: 'by-references', system: 'Imager', systemVersion: '2' } as const;
    expect(markOf(DEFAULT_MARK_POLICY, { ...MODEL, mark: named }, FROM_WORDS)).to.deep.equal({
      sourceType: 'trainedAlgorithmicMedia',
      system: 'Imager',
      systemVersion: '2',
    });
  });

  it('names the model where the operator wants it, and the entry names no system', () => {
    const policy = { ...DEFAULT_MARK_POLICY, namesModel: true };
    expect(markOf(policy, MODEL, FROM_WORDS)).to.include({ system: 'Studio still' });
    expect(markOf(policy, { ...MODEL, mark: { source: 'by-references', system: 'Imager' } }, FROM_WORDS)).to.include({
      system: 'Imager',
    });
  });

  it('is not written where the operator or the entry of the model says so', () => {
    expect(markOf({ ...DEFAULT_MARK_POLICY, isWritten: false }, MODEL, FROM_WORDS)).to.equal(undefined);
    expect(markOf(DEFAULT_MARK_POLICY, { ...MODEL, mark: { source: 'none' } }, FROM_FILES)).to.equal(undefined);
  });
});
