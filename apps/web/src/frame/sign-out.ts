import { clearDrafts } from '../playground/draft.js';

/** Signs this browser out, and removes what it keeps of the account. A form of HTML, since the answer is another page. */
export function signOut(): void {
  clearDrafts();
  const form = document.createElement('form');
  form.method = 'post';
  form.action = '/sign-out';
  document.body.append(form);
  form.submit();
}
