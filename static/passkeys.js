// Passkeys. A form with data-passkey="get" asks the browser for one, with data-passkey="create" for a new one, and posts
// the answer in its field "credential". Forms are hidden until it is known that the browser offers passkeys here: they
// need https or http://localhost, and a name, as no browser keeps a passkey for an address such as 127.0.0.1.
// Listens to the submit of its forms.

const isNamed = !/^[\d.]+$|:/.test(location.hostname);
const isOffered = isNamed && Boolean(window.PublicKeyCredential?.parseRequestOptionsFromJSON);

// The challenge of the site: in the page, or fetched where the page may be old by the time that it is used.
const challengeOf = async (form) => {
  const written = document.getElementById("passkey-options");
  if (written) return Object.values(JSON.parse(written.textContent))[0].publicKey;
  const response = await fetch(form.action, { headers: { Accept: "application/json" } });
  if (!response.ok) throw new Error(`status ${response.status}`);
  return (await response.json()).request_options.publicKey;
};

const askBrowser = async (form) => {
  const challenge = await challengeOf(form);
  if (form.dataset.passkey === "get") {
    return navigator.credentials.get({ publicKey: PublicKeyCredential.parseRequestOptionsFromJSON(challenge) });
  }
  // Kept by the authenticator, and opened by a finger, a face or a PIN: no name has to be typed at the sign-in.
  Object.assign(challenge.authenticatorSelection, {
    residentKey: "required",
    requireResidentKey: true,
    userVerification: "required",
  });
  return navigator.credentials.create({ publicKey: PublicKeyCredential.parseCreationOptionsFromJSON(challenge) });
};

for (const form of document.querySelectorAll("form[data-passkey]")) {
  form.hidden = !isOffered;
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const complaint = form.querySelector("[data-failed]");
    complaint.hidden = true;
    try {
      form.elements.credential.value = JSON.stringify(await askBrowser(form));
      form.submit();
    } catch {
      complaint.hidden = false;
    }
  });
}
for (const note of document.querySelectorAll("[data-without-passkeys]")) note.hidden = isOffered;
