// Goal: the text of a task that is kept with its record is what the task would be rendered as now.
// Method: views of a few records in random order, each compared with a new rendering; addresses and poll times change
// between them.
import { expect } from 'chai';
import fc from 'fast-check';
import { renderTask, taskText } from '../../../../apps/http/render/generation.js';
import { VIEWS } from '../../../fixtures/generation-views.js';

describe('the text of a task', () => {
  it('is that of a new rendering, whatever was shown before', () => {
    fc.assert(
      fc.property(VIEWS, (views) => {
        for (const view of views) expect(taskText(view)).to.equal(JSON.stringify(renderTask(view)));
      }),
    );
  });
});
