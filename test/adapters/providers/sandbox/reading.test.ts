/*
 * Goal: a prompt is read as a person would read it: a colour belongs to the thing after it, numbers multiply, other colours set the mood.
 * Method: short prompts with known readings; random text never throws and never names more figures than are drawn.
 */
import { expect } from 'chai';
import fc from 'fast-check';
import { meaningOf, readPrompt } from '../../../../adapters/providers/sandbox/paint/prompt.js';

describe('Reading a prompt', () => {
  const red = meaningOf('red').color!;
  const blue = meaningOf('blue').color!;

  it('gives each shape the colour before it', () => {
    expect(readPrompt('a red circle and a big blue square').figures).to.deep.equal([
      { kind: 'circle', color: red },
      { kind: 'square', color: blue },
    ]);
  });

  it('counts shapes', () => {
    expect(readPrompt('three hearts').figures.map((figure) => figure.kind)).to.deep.equal(['heart', 'heart', 'heart']);
  });

  it('knows the stars of the sky from stars that are counted or coloured', () => {
    expect(readPrompt('stars over the sea').elements.has('stars')).to.equal(true);
    expect(readPrompt('two red stars').figures).to.deep.equal([
      { kind: 'star', color: red },
      { kind: 'star', color: red },
    ]);
  });

  it('finds things, their colours and the time of day', () => {
    const reading = readPrompt('A red lighthouse above the sea at dusk');
    expect(reading.time).to.equal('dusk');
    expect([...reading.elements]).to.deep.equal([
      ['lighthouse', red],
      ['sea', undefined],
    ]);
  });

  it('takes a colour that belongs to nothing as the mood', () => {
    expect(readPrompt('blue').tints).to.deep.equal([blue]);
    expect(readPrompt('a blue and rather quiet old circle').figures).to.deep.equal([
      { kind: 'circle', color: undefined },
    ]);
  });

  it('reads any text', () => {
    const text = fc.string({ unit: 'binary', maxLength: 400 });
    fc.assert(
      fc.property(text, (prompt) => readPrompt(prompt).figures.length <= 9),
      { numRuns: 100 },
    );
  });
});
