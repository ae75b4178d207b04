// Goal: the machine's clock keeps the port's contract, and keeps the process alive only when it is meant to.
// Method: the contract, and whether a pending timer shows among the runtime's active resources.
import { expect } from 'chai';
import { SystemClock } from '../../../adapters/system/system-clock.js';
import { clockContract } from '../../contracts/clock.contract.js';

clockContract({ name: 'system', open: async () => new SystemClock(), close: async () => undefined, supports: {} });

describe('SystemClock', () => {
  const timersHeld = () => process.getActiveResourcesInfo().filter((resource) => resource === 'Timeout').length;

  it('keeps the process alive while a timer is pending, unless told not to', () => {
    const before = timersHeld();
    const cancelHolding = new SystemClock().after(60_000, () => undefined);
    expect(timersHeld()).to.equal(before + 1);
    const cancelOther = new SystemClock({ keepsProcessAlive: false }).after(60_000, () => undefined);
    expect(timersHeld()).to.equal(before + 1);
    cancelHolding();
    cancelOther();
  });
});
