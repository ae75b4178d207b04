import { usableApps } from '../../../../core/people/acting.js';
import type { ConsoleOperation } from '../console-operation.js';

/** The Apps in which the person can look and act, that of the page first. */
export const listUsableApps: ConsoleOperation = {
  method: 'GET',
  path: '/usable-apps',
  async answer({ context }, { signedIn: { person } }) {
    const apps = await usableApps(context, person);
    return { apps: apps.map(({ app, kind }) => ({ id: app.appId, name: app.name, kind })) };
  },
};
