// Goal: an Idempotency-Key is one header of 1 to 255 visible ASCII characters.
// Method: every single character, both lengths at the edge, no header and two.
import { expect } from 'chai';
import { ServiceError } from '../../../core/errors.js';
import { readIdempotencyKey } from '../../../core/idempotency/claim.js';

function codeOf(values: readonly string[]): string | undefined {
  try {
    readIdempotencyKey(values);
    return undefined;
  } catch (error) {
    return error instanceof ServiceError ? error.code : String(error);
  }
}

describe('readIdempotencyKey', () => {
  it('requires a key if there is none, and a single one if there are two', () => {
    expect(codeOf([])).to.equal('IDEMPOTENCY_KEY_REQUIRED');
    expect(codeOf(['a', 'a'])).to.equal('IDEMPOTENCY_KEY_INVALID');
  });

  it('accepts 1 to 255 characters', () => {
    expect([codeOf(['']), codeOf(['a']), codeOf(['a'.repeat(255)]), codeOf(['a'.repeat(256)])]).to.deep.equal([
      'IDEMPOTENCY_KEY_INVALID',
      undefined,
      undefined,
      'IDEMPOTENCY_KEY_INVALID',
    ]);
  });

  it('accepts each visible ASCII character and no other', () => {
    for (let code = 0; code < 300; code += 1) {
      const isVisible = code >= 33 && code <= 126;
      expect(codeOf([`a${String.fromCharCode(code)}`]), `code ${code}`).to.equal(
        isVisible ? undefined : 'IDEMPOTENCY_KEY_INVALID',
      );
    }
  });
});
