// Goal: every catalog lists its models in their order, finds each by its exact key only, and cannot be changed by a
// caller.
// Method: the listed models are compared with the found ones; then similar keys, and attempts to change the returned
// list.
import { expect } from 'chai';
import type { Catalog } from '../../core/ports/catalog.js';
import { contract, type ContractSubject } from './subject.js';

/** `keys` are the model keys of the opened catalog, in its order; two at least. */
export interface CatalogSupports {
  readonly keys: readonly string[];
}

export function catalogContract(subject: ContractSubject<Catalog, CatalogSupports>): void {
  contract('Catalog contract', subject, (catalog) => {
    const { keys } = subject.supports;

    it('lists every model once, in its order', () => {
      expect(
        catalog()
          .models()
          .map(({ modelKey }) => modelKey),
      ).to.deep.equal(keys);
      expect(new Set(keys).size).to.equal(keys.length).and.to.be.at.least(2);
    });

    it('finds each model by its key: the one it lists', () => {
      for (const model of catalog().models()) expect(catalog().find(model.modelKey)).to.equal(model);
    });

    it('finds nothing by a similar key', () => {
      const [key = ''] = keys;
      for (const other of [
        '',
        ' ',
        key.toUpperCase(),
        `${key} `,
        ` ${key}`,
        key.slice(1),
        `${key}x`,
        '*',
        '__proto__',
        'constructor',
        'toString',
      ]) {
        expect(catalog().find(other), JSON.stringify(other)).to.equal(undefined);
      }
    });

    it('is a snapshot: a caller cannot change the list it got', () => {
      const before = catalog()
        .models()
        .map(({ modelKey }) => modelKey);
      expect(() => (catalog().models() as unknown[]).pop()).to.throw(TypeError);
      expect(
        catalog()
          .models()
          .map(({ modelKey }) => modelKey),
      ).to.deep.equal(before);
    });
  });
}
