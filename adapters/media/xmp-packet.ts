import type { AiMark } from '../../core/media/ai-mark.js';

const IPTC_EXTENSION = 'http://iptc.org/std/Iptc4xmpExt/2008-02-29/';
const DIGITAL_SOURCE_TYPE = 'http://cv.iptc.org/newscodes/digitalsourcetype/';
/** Some readers find a packet in a file of unknown format by these lines alone. */
const PACKET_BEGIN = '<?xpacket begin="\ufeff" id="W5M0MpCehiHzreSzNTczkc9d"?>';
const PACKET_END = '<?xpacket end="r"?>';
/** Characters that XML 1.0 does not allow, escaped or not; half of a surrogate pair is one of them. */
const NOT_IN_XML = /[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/gu;
const ESCAPES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;' };

/**
 * The XMP packet of a mark, in UTF-8. It has no white space between its elements, and no padding: equal marks give equal
 * bytes, so that the packet is recognised in a file that has it already.
 */
export function xmpPacket({ sourceType, system, systemVersion }: AiMark): Buffer {
  const properties =
    property('DigitalSourceType', DIGITAL_SOURCE_TYPE + sourceType) +
    property('AISystemUsed', system) +
    property('AISystemVersionUsed', systemVersion);
  const description = `<rdf:Description rdf:about="" xmlns:Iptc4xmpExt="${IPTC_EXTENSION}">${properties}</rdf:Description>`;
  const rdf = `<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">${description}</rdf:RDF>`;
  return Buffer.from(`${PACKET_BEGIN}<x:xmpmeta xmlns:x="adobe:ns:meta/">${rdf}</x:xmpmeta>${PACKET_END}`);
}

function property(name: string, value: string | undefined): string {
  if (value === undefined) return '';
  const text = value.replace(NOT_IN_XML, '').replace(/[&<>]/g, (character) => ESCAPES[character]!);
  return `<Iptc4xmpExt:${name}>${text}</Iptc4xmpExt:${name}>`;
}
