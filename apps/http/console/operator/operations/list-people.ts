import { moreJson, personJson } from '../../../../operator/records.js';
import type { OperatorOperation } from '../operator-operation.js';

export const listPeople: OperatorOperation = {
  method: 'GET',
  path: '/accounts/:account_id/people',
  act: 'list the people of an account',
  async answer(_parts, { ctx, operator, page }) {
    const people = await operator.listPeople(ctx.params['account_id'] ?? '', page);
    return { people: people.items.map(personJson), ...moreJson(people) };
  },
};
