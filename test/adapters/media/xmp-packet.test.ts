// Goal: the packet of a mark has the bytes that readers know, and no text of an operator changes its structure.
// Method: its length and parts as the page about marks gives them; texts with every kind of character.
import { expect } from 'chai';
import { xmpPacket } from '../../../adapters/media/xmp-packet.js';

describe('xmpPacket', () => {
  it('has 440 bytes for pictures from words, and 453 for those with references', () => {
    const packet = xmpPacket({ sourceType: 'trainedAlgorithmicMedia' });
    expect(packet).to.have.length(440);
    expect(packet.toString()).to.match(/^<\?xpacket begin="\ufeff" id="W5M0MpCehiHzreSzNTczkc9d"\?>/);
    expect(packet.toString()).to.include(
      '<Iptc4xmpExt:DigitalSourceType>http://cv.iptc.org/newscodes/digitalsourcetype/trainedAlgorithmicMedia</',
    );
    expect(packet.toString()).to.match(/<\?xpacket end="r"\?>$/);
    expect(xmpPacket({ sourceType: 'compositeWithTrainedAlgorithmicMedia' })).to.have.length(453);
  });

  it('escapes the names of the system, and leaves out what XML does not allow', () => {
    const packet = xmpPacket({
      sourceType: 'trainedAlgorithmicMedia',
      system: '</rdf:RDF>&\u0000\u000b\ud800\uffff😀',
      systemVersion: '1 < 2',
    }).toString();
    expect(packet).to.include('<Iptc4xmpExt:AISystemUsed>&lt;/rdf:RDF&gt;&amp;😀</Iptc4xmpExt:AISystemUsed>');
    expect(packet).to.include('<Iptc4xmpExt:AISystemVersionUsed>1 &lt; 2</Iptc4xmpExt:AISystemVersionUsed>');
  });

  it('has the same bytes for equal marks', () => {
    const mark = { sourceType: 'algorithmicMedia', system: 's', systemVersion: 'v' } as const;
    expect(xmpPacket({ ...mark })).to.deep.equal(xmpPacket({ ...mark }));
  });
});
