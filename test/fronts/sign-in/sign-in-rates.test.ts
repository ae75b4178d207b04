// Goal: guesses of passwords are slowed down, and who guesses does not keep the person out.
// Method: tries of several addresses and browsers until they are refused.
import { expect } from 'chai';
import { SignInRates, type SignInTry } from '../../../apps/http/pages/browser-sessions.js';

/** How many of so many tries are let through. */
async function passed(rates: SignInRates, tries: number, one: SignInTry): Promise<number> {
  let count = 0;
  for (let done = 0; done < tries; done += 1) {
    await rates.take(one).then(
      () => (count += 1),
      (refusal: unknown) => expect(refusal).to.have.property('code', 'RATE_LIMITED'),
    );
  }
  return count;
}

describe('the rates of sign-in', () => {
  it('let no address use up the tries of another one', async () => {
    const rates = new SignInRates();
    expect(await passed(rates, 40, { address: 'a', person: 'p' })).to.be.within(10, 12);
    expect(await passed(rates, 5, { address: 'b', person: 'p' })).to.equal(5);
  });

  it('slow many addresses down that guess for one person', async () => {
    const rates = new SignInRates();
    let count = 0;
    for (let address = 0; address < 20; address += 1)
      count += await passed(rates, 10, { address: `a${address}`, person: 'p' });
    expect(count).to.be.within(100, 105);
    expect(await passed(rates, 5, { address: 'b', person: 'p', device: 'd' }), 'a browser of theirs').to.equal(5);
    expect(await passed(rates, 5, { address: 'b', person: 'q' }), 'another person').to.equal(5);
  });
});
