// Goal: a generation tries the providers of its model in one order everywhere: it begins by weight and goes on in the
// catalog's order.
// Method: random routes and ids, and counts over many ids.
import { expect } from 'chai';
import fc from 'fast-check';
import { routeOf } from '../../../core/catalog/find-model.js';
import { uuidAt } from '../../fixtures/stored-records.js';

const entry = (provider: string, weight: number) => ({ provider, weight, settings: {} });
const names = (route: readonly { readonly provider: string }[]) => route.map(({ provider }) => provider);

describe('the route of a generation', () => {
  it('has every provider once, and after the first one those of the catalog in their order', () => {
    fc.assert(
      fc.property(fc.array(fc.nat({ max: 5 }), { minLength: 1, maxLength: 6 }), fc.uuid(), (weights, id) => {
        const route = weights.map((weight, index) => entry(`p${index}`, weight));
        const [first, ...others] = names(routeOf({ route }, id));
        expect(others).to.deep.equal(names(route).filter((name) => name !== first));
        expect(names(routeOf({ route }, id))).to.deep.equal([first, ...others]);
      }),
    );
  });

  it('begins at the providers by their weights', () => {
    const route = [entry('a', 1), entry('b', 3), entry('spare', 0)];
    const firsts = Array.from({ length: 4_000 }, (_, n) => routeOf({ route }, uuidAt(n))[0]?.provider);
    const share = (name: string) => firsts.filter((first) => first === name).length / firsts.length;
    expect(share('a')).to.be.within(0.2, 0.3);
    expect(share('spare')).to.equal(0);
  });
});
