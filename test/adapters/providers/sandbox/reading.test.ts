/*
 * Goal: a prompt is read the way a person would: colours go to what they stand before, counts multiply, moods tint.
 * Method: short prompts and what must be found in them; random text must never throw and never name more than is drawn.
 */
import { expect } from 'chai';
import fc from 'fast-check';
import { readPrompt } from '../../../../adapters/providers/sandbox/paint/reading.js';
import { setCaption } from '../../../../adapters/providers/sandbox/paint/caption.js';
import { meaningOf } from '../../../../adapters/providers/sandbox/paint/vocabulary.js';

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

  it('reads and sets any text', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: 'binary', maxLength: 400 }),
        fc.integer({ min: 64, max: 1024 }),
        (text, widthPx) => {
          expect(readPrompt(text).figures.length).to.be.at.most(9);
          const { ink, top } = setCaption(text, widthPx, 256);
          expect(ink.length).to.equal(widthPx * (256 - top));
          expect(ink.every((cover) => cover >= 0 && cover <= 1)).to.equal(true);
        },
      ),
      { numRuns: 100 },
    );
  });
});
