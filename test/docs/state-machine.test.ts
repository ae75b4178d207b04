/**
 * Goal: the page on the state machine shows the table the service runs on.
 * Method: compare the page's rows with TRANSITIONS, both ways; compare the diagram's arrows that change the status too.
 */
import { expect } from 'chai';
import { TRANSITIONS } from '../../core/generation/decide.js';
import { plain, readPage, tablesOf } from './pages.js';

const page = readPage('docs/state-machine.md');

const transitions = Object.entries(TRANSITIONS).flatMap(([from, byEvent]) =>
  Object.entries(byEvent).map(([event, to]) => ({ from, event, to })),
);

describe('docs/state-machine.md', () => {
  it('has a row for every transition, and no other', () => {
    const tables = tablesOf(page).filter(({ columns }) => columns[0] === 'From' && columns[1] === 'Event');
    const shown = tables.flatMap(({ columns, rows }) =>
      rows.flatMap(([from, event, to]) =>
        plain(from)
          .split(', ')
          .map((one) => arrow(one, plain(event), columns[2] === 'To' ? plain(to) : one)),
      ),
    );
    expect(shown.sort()).to.deep.equal(transitions.map(({ from, event, to }) => arrow(from, event, to)).sort());
  });

  it('draws every change of status, and no other', () => {
    const [diagram] = page.blocks.filter(({ text }) => text.startsWith('stateDiagram'));
    const drawn = [...(diagram?.text ?? '').matchAll(/^\s*(\w+) --> (\w+): (.+)$/gm)].flatMap(
      ([, from = '', to = '', events = '']) => events.split(', ').map((event) => arrow(from, event, to)),
    );
    const changes = transitions
      .filter(({ from, to }) => from !== to)
      .map(({ from, event, to }) => arrow(from, event, to));
    expect(drawn.sort()).to.deep.equal(changes.sort());
  });
});

function arrow(from: string, event: string, to: string): string {
  return `${from} -- ${event} --> ${to}`;
}
