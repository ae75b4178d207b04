import { Page } from '../parts/parts.js';

/** The models of the catalog. */
export function ModelsPage() {
  return <Page title="Models">{null}</Page>;
}
