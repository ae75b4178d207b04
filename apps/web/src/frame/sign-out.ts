/** Signs this browser out. A form of HTML, since the answer is another page. */
export function signOut(): void {
  const form = document.createElement('form');
  form.method = 'post';
  form.action = '/sign-out';
  document.body.append(form);
  form.submit();
}
