import streamlit as st

from pages.shared import frame

lesson = frame.open_page("sampling")
st.write(len(lesson.trace))
