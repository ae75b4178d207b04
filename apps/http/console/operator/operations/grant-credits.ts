import { creditOperation } from '../credit-operation.js';

export const grantCredits = creditOperation('grants', 'grant credits', (operator, operation) =>
  operator.grantCredits(operation),
);
