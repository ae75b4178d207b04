// Goal: digests are SHA-256 in lower-case hex; canonical JSON ignores the order of members and nothing else.
// Method: published vectors of SHA-256 and RFC 8785, and a property over shuffled objects.
import { expect } from 'chai';
import fc from 'fast-check';
import type { Json } from '../../core/json.js';
import type { Digests } from '../../core/ports/machine.js';
import { breakingOff, bytesOf } from '../fixtures/byte-streams.js';
import { contract, type ContractSubject } from './subject.js';
import { forAllSync } from '../harness/for-all.js';

const HEX = /^[0-9a-f]{64}$/;
const EMPTY = 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855';
const ABC = 'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad';

async function* chunks(...texts: readonly string[]): AsyncGenerator<Uint8Array> {
  for (const text of texts) yield bytesOf(text);
}

function reversed(value: Json): Json {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(reversed);
  return Object.fromEntries(
    Object.entries(value)
      .reverse()
      .map(([name, member]) => [name, reversed(member)] as const),
  );
}

export interface DigestsSupports {
  /** The same adapter under another secret. */
  readonly otherSecret: () => Promise<Digests>;
}

export function digestsContract(subject: ContractSubject<Digests, DigestsSupports>): void {
  contract('Digests contract', subject, (digests) => {
    it('passes on a failure of the bytes', async () => {
      const outcome = await digests()
        .ofBytes(breakingOff(new Uint8Array(1)))
        .then(
          () => 'resolved',
          (error: Error) => error.message,
        );
      expect(outcome).to.equal('the line broke');
    });

    it('digests bytes, however they are cut, and counts them', async () => {
      expect(await digests().ofBytes(chunks())).to.deep.equal({ sha256: EMPTY, byteSize: 0 });
      expect(await digests().ofBytes(chunks('a', '', 'bc'))).to.deep.equal({ sha256: ABC, byteSize: 3 });
    });

    it('digests canonical JSON: members sorted by UTF-16 units, numbers in shortest form', async () => {
      const value = JSON.parse(
        '{"\\u20ac":"Euro","\\r":1E30,"1":4.50,"\\ud83d\\ude00":2e-3,"\\u0080":-0,"a":[true,null,"\\u000f\\n"]}',
      ) as Json;
      const canonical =
        '{"\\r":1e+30,"1":4.5,"a":[true,null,"\\u000f\\n"],"\u0080":0,"\u20ac":"Euro","\ud83d\ude00":0.002}';
      expect(digests().ofJson(value)).to.equal((await digests().ofBytes(chunks(canonical))).sha256);
    });

    it('sees a member called __proto__', () => {
      expect(digests().ofJson(JSON.parse('{"a":1,"__proto__":{"b":2}}') as Json)).not.to.equal(
        digests().ofJson({ a: 1 }),
      );
    });

    it('ignores the order of members, and only that', () => {
      forAllSync(100, [fc.jsonValue(), fc.jsonValue()], (a, b) => {
        const [one, other] = [JSON.parse(JSON.stringify(a)) as Json, JSON.parse(JSON.stringify(b)) as Json];
        expect(digests().ofJson(one))
          .to.match(HEX)
          .and.to.equal(digests().ofJson(reversed(one)));
        let same = true;
        try {
          expect(one).to.deep.equal(other);
        } catch {
          same = false;
        }
        expect(digests().ofJson(one) === digests().ofJson(other)).to.equal(same);
      });
    });

    it('keys its digest: the same text and secret give the same, another text or secret another', async () => {
      const other = await subject.supports.otherSecret();
      expect(digests().keyed('svc')).to.match(HEX).and.to.equal(digests().keyed('svc'));
      expect(digests().keyed('svc')).not.to.equal(digests().keyed('svd'));
      expect(digests().keyed('svc')).not.to.equal(other.keyed('svc'));
      expect(digests().keyed('abc')).not.to.equal(ABC);
    });
  });
}
